"""The ridge logistic regression that predictors, dynamic designs and models share."""
