"""What the library is compared with beside `tacl_lib.plain`: plain learners along given random choices (walks), a
second network (models), normal numbers (noise)."""
