"""Rows of stacked tables against torch's own indexing."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from tacl_lib.core.rows import Rows


@given(st.data())
def test_rows_are_read_and_written_as_by_two_indices(data):
    runs, count = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    width = data.draw(st.sampled_from([(), (3,), (2, 3)]))
    m = data.draw(st.sampled_from([(), (1,), (4,)]))
    seed = torch.Generator().manual_seed(data.draw(st.integers(0, 99)))
    wide = torch.rand(runs, 2 * count, *width, generator=seed)
    index = torch.randint(count, (runs, *m), generator=seed)
    run = torch.arange(runs).view(-1, *(1 for _ in m))
    rows = Rows(runs)
    for table in (wide[:, :count].contiguous(), wide[:, count:]):  # the second is a view with gaps
        before = table.clone()
        found = rows.read(table, index)
        assert torch.equal(found, table[run, index])
        found.zero_()
        assert torch.equal(table, before)  # read made a copy
    if not m:
        table, new = wide[:, :count].contiguous(), torch.rand(runs, *width, generator=seed)
        expected = table.clone()
        expected[run, index] = new
        rows.write(table, index, new)
        assert torch.equal(table, expected)
