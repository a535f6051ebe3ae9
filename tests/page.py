"""What HTML that objects show in a notebook must and must not do."""

from html.parser import HTMLParser

VOID = {"br", "hr", "img", "input", "link", "meta"}


class Page(HTMLParser):
    """The elements and texts of a piece of HTML; elements must be closed in the order they were opened in."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag not in VOID
        self.open.append(tag)
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def read_page(thing):
    """Return the page that a thing shows, which may be put twice into a page of any colours and asks for nothing."""
    html = thing._repr_html_()
    page = Page(html)
    assert not {"script", "style", "link", "img", "iframe", "object"} & set(page.tags)
    names = {name for name, _ in page.attributes}
    assert not {name for name in names if name.startswith("on")} | names & {"id", "src", "href", "class"}
    styles = " ".join(value for name, value in page.attributes if name == "style")
    assert "url(" not in styles
    assert "#" not in styles, "colours are those of the text around"
    return page
