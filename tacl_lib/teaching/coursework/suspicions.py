"""What an answer reaches for that it has no use for: told to the lecturer, whether it worked or not.

The walls of the sandbox keep it from working. Who tried should be known all the same.
"""

import ast

#: names and modules that an answer has no use for, by what they are for
REACHES = {
    "the caller's frames": "_getframe currentframe f_back f_locals f_globals getouterframes inspect.stack",
    "all objects in memory": "get_objects get_referrers gc",
    "the interpreter's hooks": "settrace setprofile",
    "the table of modules": "sys.modules meta_path",
    "the notebook's transformers": "input_transformers_cleanup input_transformers_post ast_transformers get_ipython",
    "other processes": "fork Popen popen os.system subprocess multiprocessing",
    "the interpreter's memory": "ctypes",
    "the network": "socket urllib requests",
    "the gradebook": "sqlite3 nbgrader gradebook.db",
    "the checks": "tacl_lib.teaching coursework/source coursework/solutions",
    "files": "open read_text write_text read_bytes write_bytes",
}
_MEANING = {name: what for what, names in REACHES.items() for name in names.split()}


def suspicions(source: str) -> set[str]:
    """What the code reaches for; nothing if it is not Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return set()
    found = {what for node in ast.walk(tree) for name in _names(node) if (what := _MEANING.get(name))}
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    documents = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    spelt = ("tacl_lib.teaching", "coursework/source", "coursework/solutions", "gradebook.db", "sys.modules")
    return found | {_MEANING[name] for text in texts if text not in documents for name in spelt if name in text}


def _names(node: ast.AST) -> list[str]:
    """What a node is called, with and without what it is taken from."""
    if isinstance(node, ast.Import):
        return [part for alias in node.names for part in _beginnings(alias.name)]
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        return [*_beginnings(module), *(n for alias in node.names for n in (alias.name, f"{module}.{alias.name}"))]
    if isinstance(node, ast.Attribute):
        return [*([node.attr] if node.attr != "open" else []), ast.unparse(node)[:80]]
    return [node.id] if isinstance(node, ast.Name) else []


def _beginnings(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
