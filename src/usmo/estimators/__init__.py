"""The classifiers: parameters, validation and fitted attributes. Fitting itself is in :mod:`usmo.fitting`."""
