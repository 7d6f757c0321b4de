"""torch's DataLoader over the files themselves, as most people have it."""

from __future__ import annotations

import warnings
from pathlib import Path

from loaders import FileDataset, reader

from adapters import crops
from adapters.base import Adapter, Epoch


class Files(Adapter):
    """`uri` is the folder of the class folders; nothing is written."""

    packages = ("torch",)

    def __init__(self, decoder: str) -> None:
        self._decoder = decoder
        self._read, channels_first = reader(decoder)
        self.height_first = not channels_first  # type: ignore[misc]

    def open(self, uri: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        import torch

        # More workers than cores are tried, too.
        warnings.filterwarnings("ignore", message="This DataLoader will create")
        read = crops.reader(self._decoder, self.side) if self.side else self._read
        paths = sorted(Path(uri).glob("*/*.jpg"))
        names = sorted({path.parent.name for path in paths})
        labels = [names.index(path.parent.name) for path in paths]
        loader = torch.utils.data.DataLoader(
            FileDataset([str(path) for path in paths], labels, read, index=True),
            batch_size=batch_size,
            shuffle=True,
            num_workers=workers,
            persistent_workers=workers > 0,
        )
        return lambda: ((images, found, rows) for rows, images, found in loader)
