"""scikit-learn's 8×8 digits: the dataset that is always available, without network or cache."""

import hashlib
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from tacl_lib.data import splits
from tacl_lib.data.dataset import Dataset, checked
from tacl_lib.errors import TaclError

SHA256 = "68aea062d35a127749050fa0e52dca09d6569ac08092c925610e0954e172dde2"


def digits() -> Dataset:
    """1,541 + 256 images `[8, 8, 1]`, levels 0..16 scaled to 0..255; every seventh is a test image."""
    rows = _rows()
    if hashlib.sha256(rows.tobytes()).hexdigest() != SHA256:
        raise TaclError("the digits inside scikit-learn have changed; reinstall scikit-learn.")
    grey = rows[:, :64].astype(np.int64)
    scaled = ((grey * 255 + 8) // 16).astype(np.uint8).reshape(-1, 8, 8, 1)
    train, test = splits.every_seventh(scaled, rows[:, 64])
    told = {
        "source": "inside the scikit-learn package",
        "verified": "sha256 of the images and labels",
        "note": "8 × 8 pixels, grey levels 0..16 scaled to 0..255; images 6, 13, 20, … are the test part",
    }
    return checked(Dataset("digits", *train, *test, **told), "digits")


def _rows() -> np.ndarray:
    """64 grey levels and the label of each image: uint8 `[1797, 65]`."""
    # Importing scikit-learn takes seconds; reading its table directly takes none.
    package = find_spec("sklearn")
    table = Path(package.origin).parent / "datasets/data/digits.csv.gz" if package else Path()
    if table.is_file():
        return np.loadtxt(table, delimiter=",").astype(np.uint8)
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    return np.column_stack([images, labels]).astype(np.uint8)
