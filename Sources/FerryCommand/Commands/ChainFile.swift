internal import FerryBase

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// A file that names the versions which a migration passes through, in their order.
///
/// One name on each line, empty lines and those that begin with `#` aside; or a JSON array of names.
enum ChainFile {
    /// The names in a file, or, where the path begins with a bracket, in it: as `ferry.json` has them.
    static func read(_ path: String) throws(FerryError) -> [String] {
        if path.hasPrefix("[") { return try names(in: path, "--chain") }
        let files = FileLayer()
        guard try files.exists(path) else {
            throw FerryError(.notFound, "There is no file at \(path).", remedy: "Check the path after --chain.")
        }
        let bytes = try files.read(path)
        guard let text = String(utf8: bytes) else {
            throw damaged(path, "is no UTF-8 text")
        }
        let names = try names(in: text, path)
        guard !names.isEmpty else { throw damaged(path, "names no version") }
        return names
    }

    private static func names(in text: String, _ path: String) throws(FerryError) -> [String] {
        if text.first(where: { !$0.isWhitespace }) == "[" {
            do {
                return try JSONDecoder().decode([String].self, from: Data(text.utf8))
            } catch {
                throw damaged(path, "is no JSON array of names", cause: error)
            }
        }
        return text.split(whereSeparator: \.isNewline).map(trimmed).filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }

    private static func trimmed(_ line: Substring) -> String {
        let rest = line.drop(while: \.isWhitespace)
        guard let last = rest.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(rest[...last])
    }

    private static func damaged(_ path: String, _ what: String, cause: (any Error)? = nil) -> FerryError {
        FerryError(
            .usage, "\(path) \(what).",
            remedy: "Write one version name on each line, in the order in which they follow each other.", cause: cause)
    }
}
