"""Trains LeRobot's own ACT policy on windows of a LeRobot dataset, linked in place. It prints the losses.

python benchmarks/lerobot_policy.py ROOT [EPOCHS], by an interpreter with deeplake and what lerobot[dataset] imports.
"""

from __future__ import annotations

import json
import sys

import deeplake
import torch
from deeplake.transforms import CHW, ToFloat
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.policies.act.configuration_act import ACTConfig
from lerobot.policies.act.modeling_act import ACTPolicy

CHUNK = 8  # actions that the policy foretells


def main(root: str, epochs: int) -> None:
    torch.manual_seed(0)
    ds = deeplake.ingest(root, "mem://act", link=True, verbose=False)
    fps, cameras = ds.info["fps"], [name for name in ds.tensors if ds[name].htype == "video"]
    view = ds.windows({"action": [i / fps for i in range(CHUNK)]}, others="frame")
    height, width, _ = view[cameras[0]][0].shape
    inputs = {name: PolicyFeature(FeatureType.VISUAL, (3, height, width)) for name in cameras}
    inputs["observation.state"] = PolicyFeature(FeatureType.STATE, (ds["observation.state"].shape[-1],))
    policy = ACTPolicy(
        ACTConfig(
            input_features=inputs,
            output_features={"action": PolicyFeature(FeatureType.ACTION, (ds["action"].shape[-1],))},
            chunk_size=CHUNK,
            n_action_steps=CHUNK,
            dim_model=64,
            n_heads=4,
            dim_feedforward=128,
            n_encoder_layers=1,
            pretrained_backbone_weights=None,
            device="cpu",
        )
    )
    policy.train()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    # Decode threads make the batches that the policy takes: float32 from 0 to 1, channels first.
    loader = view.pytorch(batch_size=8, shuffle=True, transform={name: [ToFloat(), CHW()] for name in cameras})
    losses = []
    for _ in range(epochs):
        for batch in loader:
            loss, _ = policy.forward(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    print(json.dumps(losses))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 4)
