"""What is known of the topics of a collection, as plain arrays: pairs, grades, ranks."""
