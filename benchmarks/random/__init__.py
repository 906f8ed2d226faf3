"""Labels at random and not at random: the test, the prior and the classifier on 17 tables."""
