"""From a table and a specification to certified fits: one fit, a path, a selection. Plain functions, no estimators."""
