"""Python steps of a loader in processes of their own, which share memory with the loader.

The processes own neither datasets nor batches: they map the files of both, and get places. Nothing
here has a name in a file system. All of it ends with the loader, or with its process.
"""
