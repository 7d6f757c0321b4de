"""Folders into buckets; runs where boto3 is."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def s3() -> Any:
    import boto3
    from botocore.config import Config

    return boto3.client("s3", config=Config(signature_version="s3v4", s3={"addressing_style": "path"}))


class Upload:
    """Puts folders into buckets."""

    def upload(self, folder: str, bucket: str, prefix: str) -> dict[str, Any]:
        client = s3()
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file():
                client.upload_file(str(path), bucket, f"{prefix}/{path.relative_to(folder)}")
        return {}
