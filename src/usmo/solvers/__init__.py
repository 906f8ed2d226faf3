"""One algorithm per file: from a problem, a kernel and a start to a Solution."""
