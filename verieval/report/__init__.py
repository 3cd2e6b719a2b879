"""Reports: views of a run's files, each of which can be made again from them."""
