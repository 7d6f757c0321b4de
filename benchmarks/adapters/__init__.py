"""Other loaders and formats, one small module each, as their documentation says they are fastest.

Each runs in the environment that `roster.py` names for it, in a process of its own (peers.Peer). Loaders that leave
decoding to the user get OpenCV, the fastest of PIL, torchvision and OpenCV under every loader here.
"""
