"""Functions over the rows of datasets, whose results are rows or columns of datasets."""
