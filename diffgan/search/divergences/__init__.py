"""One module for each task: classification, regression, segmentation."""
