"""From rows of data to blocks of numbers: kernel matrices, tiles, row blocks. No PU learning."""
