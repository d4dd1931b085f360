internal import Ferry
internal import FerryBase

/// The package of Ferry that a package with policies depends on.
struct FerryDependency {
    /// As a package manifest says it.
    let requirement: String
    /// The name by which targets refer to it.
    let identity: String

    /// A folder, by its way from the package, or a URL.
    ///
    /// - Throws: `.notFound` for a folder that is not there.
    init(_ word: String, from relative: (String) -> String) throws(FerryError) {
        var last = FileLayer.name(of: word.hasSuffix("/") ? String(word.dropLast()) : word)
        if word.contains("://") || word.hasPrefix("git@") {
            if last.hasSuffix(".git") { last.removeLast(4) }
            requirement = ".package(url: \(SwiftText.quoted(word)), from: \(SwiftText.quoted(FerryVersion.text)))"
        } else {
            // The folder's own name counts, whatever `.` or `..` it was given by.
            let path = relative(word)
            last = FileLayer.name(of: try FileLayer().realPath(word))
            requirement = ".package(path: \(SwiftText.quoted(path)))"
        }
        identity = last
    }

    /// The package in whose build folder this program stands.
    static func ofThisProgram(from relative: (String) -> String) throws(FerryError) -> FerryDependency {
        let files = FileLayer()
        var folder = FileLayer.parent(of: try ChildProcess.ownPath())
        while FileLayer.parent(of: folder) != folder {
            if try files.exists("\(folder)/Package.swift"), try files.exists("\(folder)/Sources/FerryCommand") {
                return try FerryDependency(folder, from: relative)
            }
            folder = FileLayer.parent(of: folder)
        }
        throw FerryError(
            .usage, "This program does not stand in a build folder of Ferry's package.",
            remedy: "Say with --ferry which package to depend on: its folder, or the URL of its repository.")
    }
}
