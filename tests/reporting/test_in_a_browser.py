"""Pages in Chromium: nothing reaches past a phone, both themes are legible, and they print."""

import json
import re
import shutil
import subprocess
from html import escape, unescape

import pytest

import bayeseval as be
from bayeseval.reporting import report

PHONE = 390  # CSS pixels
LEGIBLE = 4.5  # contrast of text and background that WCAG 2 asks for
LONG = "an-unusually-long-name-of-a-run_with-reranking-by-a-language-model_"
# what of a page in a frame is too wide, and its text of the least contrast
MEASURED = """
const channels = (text) => {
  const numbers = text.match(/[\\d.]+/g).map(Number);
  const scale = text.startsWith("color(") ? 255 : 1;
  return [...numbers.slice(0, 3).map((one) => one * scale), numbers[3] ?? 1];
};
const over = (above, below) =>
  [0, 1, 2].map((one) => above[3] * above[one] + (1 - above[3]) * below[one]);
const light = (color) => {
  const [red, green, blue] = color.map((one) => one / 255)
    .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
onload = () => {
  const found = [...document.querySelectorAll("iframe")].map((frame) => {
    const page = frame.contentDocument, style = (one) => frame.contentWindow.getComputedStyle(one);
    const under = (one) => {
      if (!one) return [255, 255, 255];
      return over(channels(style(one).backgroundColor), under(one.parentElement));
    };
    const contrasts = [...page.querySelectorAll("body *")]
      .filter((one) => [...one.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
      .map((one) => {
        const ink = one.closest("svg") ? style(one).fill : style(one).color;
        const [high, low] = [light(over(channels(ink), under(one))), light(under(one))]
          .sort((a, b) => b - a);
        return [(high + 0.05) / (low + 0.05), one.textContent.trim().slice(0, 40)];
      });
    return {
      width: page.documentElement.scrollWidth,
      back: light(under(page.body)),
      texts: contrasts.length,
      least: contrasts.sort((a, b) => a[0] - b[0])[0],
      pictures: [...page.querySelectorAll("svg")].map((one) => one.getBoundingClientRect().right),
    };
  });
  document.body.innerHTML = "<pre>" + JSON.stringify(found).replaceAll("<", "&lt;") + "</pre>";
};
"""


@pytest.fixture(scope="module")
def browse(tmp_path_factory):
    """Function that runs Chromium with arguments; tests are skipped where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip(f"there is none of {', '.join(names)}")
    profile = tmp_path_factory.mktemp("profile")

    def run(*words):
        fixed = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        command = [program, *fixed, f"--user-data-dir={profile}", *map(str, words)]
        done = subprocess.run(command, capture_output=True, timeout=300, check=True)
        return done.stdout.decode()

    return run


@pytest.fixture(scope="module")
def pages():
    """A page of each kind on runs with long names, of which one is unlike the others."""
    collection = be.simulate.urn_collection(
        [0.05, 0.3, 0.1, 0.2, 0.12, 0.15], n_topics=12, prevalence=0.1, random_seed=3
    )
    runs = be.trec.runs_frame(collection)
    runs["run"] = LONG + runs["run"]
    whole = be.read_collection(be.trec.qrels_frame(collection), runs)
    design = be.designs.order(whole, budget=20, random_seed=1)
    sampled = be.reveal(whole, design, be.draw(design))
    frame = be.to_frame(be.evaluate(whole, "P@10", estimator="assumed"))
    frame = frame[["run", "topic", "measure", "estimate"]].rename(columns={"estimate": "score"})
    return [
        report(whole, ["P@10", "AP"], estimator="assumed", random_seed=1),
        report(sampled, "P@10", estimator="dyn", random_seed=1),
        report(sampled, "P@10", draws=100, random_seed=1),
        report(be.read_scores(frame), random_seed=1),
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_fit_a_phone_and_are_legible(browse, pages, tmp_path, theme):
    frames = [f'<iframe width="{PHONE}" srcdoc="{escape(page)}"></iframe>' for page in pages]
    whole = f"<!doctype html><body>{''.join(frames)}<script>{MEASURED}</script></body>"
    (tmp_path / "frames.html").write_text(whole)
    scheme = f"--blink-settings=preferredColorScheme={int(theme == 'light')}"
    path = (tmp_path / "frames.html").as_uri()
    shown = browse("--virtual-time-budget=10000", "--dump-dom", scheme, path)
    found = json.loads(unescape(re.search(r"<pre>(.*)</pre>", shown, re.DOTALL)[1]))
    assert len(found) == len(pages)
    for page in found:
        assert page["width"] <= PHONE and page["pictures"]
        assert max(page["pictures"]) <= PHONE
        assert page["back"] > 0.9 if theme == "light" else page["back"] < 0.05
        assert page["texts"] > 50 and page["least"][0] >= LEGIBLE, page["least"]


def test_a_page_prints_on_a_few_sheets(browse, pages, tmp_path):
    (tmp_path / "page.html").write_text(pages[2])
    path = (tmp_path / "page.html").as_uri()
    browse(f"--print-to-pdf={tmp_path / 'page.pdf'}", "--no-pdf-header-footer", path)
    printed = (tmp_path / "page.pdf").read_bytes()
    assert printed.startswith(b"%PDF-")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 4
