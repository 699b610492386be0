"""The mask of new files."""

import os

import pytest

from genenv_trainer.file_mode import set_file_mask


@pytest.mark.parametrize(("value", "mode"), [(None, 0o600), ("027", 0o640), ("077", 0o600)])
def test_files_are_the_owners_unless_a_mask_says_more(tmp_path, value, mode):
    before = os.umask(0o022)
    try:
        set_file_mask(value)
        (tmp_path / "file").touch()
        assert (tmp_path / "file").stat().st_mode & 0o777 == mode
    finally:
        os.umask(before)


@pytest.mark.parametrize("value", ["", "27", "0o77", "888", "077 ", "00077"])
def test_a_mask_that_is_none_is_refused(value):
    before = os.umask(0o022)
    try:
        with pytest.raises(ValueError, match="GENENV_UMASK: got .*; expected three octal digits"):
            set_file_mask(value)
    finally:
        os.umask(before)
