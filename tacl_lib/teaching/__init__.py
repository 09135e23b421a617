"""For students and lecturers: widgets, lessons, checks that say what is wrong, coursework and its marks.

In: the rooms before it, and what students hand in. Out: notebooks, widgets, feedback and marks.
May import: plain, data, core, engine, training, runs, paper, report. Imported by: nothing.
"""
