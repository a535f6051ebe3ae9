"""The pictures of the page: each has a figure of Bokeh's, and ``show`` puts a view into it."""
