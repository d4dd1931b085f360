internal import Ferry

/// One self-contained page: without scripts, fonts or pictures from other files, of which a browser loads none even if
/// markup got into the page.
enum Page {
    /// The first bytes of a page, which identify a page of Ferry's.
    static let sign = "<!DOCTYPE html><!-- ferry report -->"

    static func text(_ title: String, _ body: [Markup]) -> String {
        let values = ["title": Markup.escaped(title), "tool": FerryVersion.tool, "style": Template.pageStyle.filled()]
        return Template.page.around(body, values)
    }
}
