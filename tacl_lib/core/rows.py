"""Row access in stacked tables, one index per run.

Same as ``table[run, index]``, but on the flattened table: torch's indexing by two tensors takes more than twice as
long, and a step of TA-A-GEM does it a dozen times.
"""

import torch


class Rows:
    """Read and write row ``index[r]`` of run r in tables ``[R, rows, ...]``."""

    def __init__(self, runs: int, device: torch.device | str = "cpu"):
        self._run = torch.arange(runs, device=device)

    def read(self, table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        """index ``[R]`` gives ``[R, ...]``, ``[R, m]`` gives ``[R, m, ...]``, as a copy."""
        chosen = table.flatten(0, 1).index_select(0, self._end_to_end(table, index).flatten())
        return chosen.view(*index.shape, *table.shape[2:])

    def write(self, table: torch.Tensor, index: torch.Tensor, rows: torch.Tensor) -> None:
        """Write ``rows [R, ...]`` at ``index [R]`` of a contiguous table, or ``[R, m, ...]`` at ``[R, m]``."""
        to = self._end_to_end(table, index).flatten()
        table.view(-1, *table.shape[2:]).index_copy_(0, to, rows.reshape(len(to), *table.shape[2:]))

    def _end_to_end(self, table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        run = self._run if index.dim() == 1 else self._run.unsqueeze(1)
        return torch.add(index, run, alpha=table.shape[1])
