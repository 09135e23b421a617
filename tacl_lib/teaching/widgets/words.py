"""What happens in a memory, in words."""

NAMES = {
    "fashion_mnist": "T-shirt trouser pullover dress coat sandal shirt sneaker bag ankle-boot",
    "cifar10": "airplane automobile bird cat deer dog frog horse ship truck",
    "notmnist": "A B C D E F G H I J",
}


def class_name(dataset: str, split: str, task: int, label: int) -> str:
    """What a sample shows, e.g. ``"7"`` or ``"sneaker"``; a class split keeps only whether its label was odd."""
    number = 2 * task + label if split == "class" else label
    names = NAMES.get(dataset, "").split()
    return names[number].replace("-", " ") if number < len(names) else str(number)


def with_article(name: str) -> str:
    """``"a ‘7’"``, ``"an ‘8’"``."""
    vowel = name in "AEFHI" if len(name) == 1 and name.isalpha() else name[0] in "aeiouAEIOU" or name[0] == "8"
    return f"{'an' if vowel else 'a'} ‘{name}’"


def place_name(cluster: int, of_pool: int, pools: int, clustered: bool) -> str:
    """How a cluster is called; where a policy knows no clusters, it is only a row of places."""
    name = f"{'cluster' if clustered else 'row'} {cluster}"
    return f"{name} (pool of class {cluster // of_pool})" if pools > 1 else name


def arrival_sentence(who: str, task: int, where: str, replaced: int | None, opened: bool) -> str:
    """E.g. "a ‘7’ of task 4 entered cluster 12 and replaced a member of task 1"."""
    if opened:
        return f"{who} of task {task} opened {where}"
    if replaced is None:
        return f"{who} of task {task} joined {where}"
    other = "one of the same task" if replaced == task else f"a member of task {replaced}"
    return f"{who} of task {task} entered {where} and replaced {other}"
