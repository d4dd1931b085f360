package import FerryBase
internal import Foundation

/// The table of shapes as a part of a page.
package struct ShapePage: Sendable {
    package static let begin = "<!-- shapes: written by `ferry-bench shapes --markdown` -->"
    package static let end = "<!-- end of shapes -->"

    private let table: ShapeTable

    package init(_ table: ShapeTable) { self.table = table }

    /// Returns the page with the table between its two marks; a page without them gets the table at its end.
    package func text(in page: String) -> String {
        let part = ([Self.begin, ""] + table.markdown + ["", Self.end]).joined(separator: "\n")
        guard let begin = page.range(of: Self.begin), let end = page.range(of: Self.end),
            begin.upperBound <= end.lowerBound
        else { return page + (page.isEmpty || page.hasSuffix("\n") ? "" : "\n") + part + "\n" }
        return page.replacingCharacters(in: begin.lowerBound..<end.upperBound, with: part)
    }

    package func write(to path: String, files: FileLayer) throws {
        let page = try files.exists(path) ? String(decoding: files.read(path), as: UTF8.self) : ""
        try files.replace(path, with: Array(text(in: page).utf8))
    }
}
