package import FerryBase

/// A bundle of source models (`.xcdatamodeld`) to which a version is added.
package struct SourceBundle {
    package let path: String
    private let files: FileLayer
    /// Nil if nothing is there yet.
    private let catalog: ModelCatalog?

    /// A version of the bundle.
    package struct Added: Sendable {
        package var name: String
        /// The `.xcdatamodel`.
        package var path: String
        /// False if the bundle has a version with these hashes already.
        package var isNew: Bool
    }

    /// Reads the bundle at a path, where there may be none.
    ///
    /// - Throws: `.usage` for another ending, `.badModel` if the bundle cannot be read, `.outputExists` if the path is
    ///   no bundle.
    package init(_ path: String, files: FileLayer = FileLayer()) throws(FerryError) {
        self.path = path
        self.files = files
        guard FileLayer.parts(of: path).extension == "xcdatamodeld" else {
            throw FerryError(
                .usage, "\(path) is not a bundle of source models.", remedy: "Name one that ends in .xcdatamodeld.")
        }
        guard let attributes = try files.attributesIfPresent(path) else {
            catalog = nil
            return
        }
        guard attributes.isDirectory else {
            throw FerryError(
                .outputExists, "\(path) already exists and is not a folder.", remedy: "Name another bundle.")
        }
        catalog = try files.list(path).isEmpty ? nil : ModelCatalog(paths: [path], files: files)
    }

    /// Adds a version under the next free name, and makes it the current one.
    ///
    /// A version of the bundle with equal hashes is the result instead, and nothing is written. A failed call leaves
    /// the bundle with its current version.
    ///
    /// - Parameters:
    ///   - contents: The XML of the model.
    ///   - hashes: Its version hashes.
    ///   - name: The name of the version; nil for the bundle's own with the next number.
    /// - Returns: The version.
    /// - Throws: `.outputExists` if the bundle has another version of that name; errors of writing.
    package func add(
        _ contents: [UInt8], hashes: [String: [UInt8]], named name: String? = nil
    ) throws(FerryError) -> Added {
        if let known = catalog?.versions(matching: hashes).last {
            return Added(name: known.name, path: known.path, isNew: false)
        }
        // With ?? the error would lose its type.
        let name = if let name { name } else { try nextName() }
        let version = "\(path)/\(name).xcdatamodel"
        guard try !files.exists(version) else {
            throw FerryError(
                .outputExists, "\(version) already exists, and is another version.", remedy: "Choose another name.")
        }
        try files.createDirectory(version)
        try files.replace("\(version)/contents", with: contents)
        try files.syncFolder(path)
        // From here on the version is the current one.
        try files.replace("\(path)/.xccurrentversion", with: Array(Self.currentVersionList(name).utf8))
        return Added(name: name, path: version, isNew: true)
    }

    /// The bundle's name for its first version, then with the number after the highest one (`App 2`), as in Xcode.
    private func nextName() throws(FerryError) -> String {
        let stem = ModelFiles.stem(of: path)
        guard catalog != nil else { return stem }
        let names = try files.list(path).filter { FileLayer.parts(of: $0.name).extension == "xcdatamodel" }
            .map { ModelFiles.stem(of: $0.name) }
        let numbers = names.compactMap { name in
            name == stem ? 1 : name.hasPrefix(stem + " ") ? Int(name.dropFirst(stem.count + 1)) : nil
        }
        return "\(stem) \(max(names.count, (numbers.max() ?? 1)) + 1)"
    }

    /// The content of `.xccurrentversion` that names the version, in Xcode's own form.
    package static func currentVersionList(_ name: String) -> String {
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" "
            + "\"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n<dict>\n"
            + "\t<key>_XCCurrentVersionName</key>\n\t<string>\(escaped(name)).xcdatamodel</string>\n</dict>\n</plist>\n"
    }

    private static func escaped(_ text: String) -> String {
        text.map { ["&": "&amp;", "<": "&lt;", ">": "&gt;"][$0] ?? String($0) }.joined()
    }
}
