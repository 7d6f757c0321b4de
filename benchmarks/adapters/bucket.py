"""Folders into buckets; runs where boto3 is."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any


def s3(connections: int = 10) -> Any:
    """Returns a client that keeps so many connections."""
    import boto3
    from botocore.config import Config

    style = {"addressing_style": "path"}
    return boto3.client("s3", config=Config(signature_version="s3v4", s3=style, max_pool_connections=connections))


class Upload:
    """Puts folders into buckets."""

    def upload(self, folder: str, bucket: str, prefix: str) -> dict[str, Any]:
        client = s3()
        paths = [path for path in sorted(Path(folder).rglob("*")) if path.is_file()]
        with ThreadPoolExecutor(4) as pool:
            for _ in pool.map(
                lambda path: client.upload_file(str(path), bucket, f"{prefix}/{path.relative_to(folder)}"), paths
            ):
                pass
        return {}
