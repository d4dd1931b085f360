package import FerryBase

/// A version of a bundle that cannot be read; the bundle's other versions still can.
package struct UnreadableVersion: Sendable {
    package var name: String
    package var bundle: String?
    package var path: String
    package var error: FerryError
}

/// Reads the model that a store holds; nil if the file does not begin like a database.
///
/// - Throws: `.notACoreDataStore` for another database, `.badModel` if the store holds no usable model.
package typealias StoreModelReader = (_ path: String) throws(FerryError) -> ModelVersion?

/// Finds and reads the model files below a path.
struct ModelFiles {
    /// The limit of a file's size in bytes: the largest known models have 2 MB.
    private static let sizeLimit = 16 << 20

    let files: FileLayer
    /// Nil where stores do not count as models.
    let readStore: StoreModelReader?
    private(set) var versions: [ModelVersion] = []
    private(set) var unreadable: [UnreadableVersion] = []

    private var forms: String {
        // Comparing a function that throws a type with nil would need the systems of 2024.
        let stores = if case .some = readStore { ", a store that contains its model" } else { "" }
        return ".xcdatamodeld, .xcdatamodel, .momd or .mom\(stores)"
    }

    /// Reads all models at a path; throws `.notFound` if there is none, `.badModel` if one is damaged.
    mutating func read(_ given: (path: String, name: String?)) throws(FerryError) {
        let path = Self.trimmed(given.path)
        guard let attributes = try files.attributesIfPresent(path) else {
            throw FerryError(
                .notFound, "There is no model at \(path).",
                remedy: "Pass the path of an \(forms), or of a folder that contains them.")
        }
        if given.name == nil, try readModel(path, isDirectory: attributes.isDirectory) { return }
        if attributes.isRegularFile, var version = try readStore?(path) {
            if let name = given.name { version.name = name }
            version.origin = .store(isNamed: given.name != nil, isGiven: true)
            return add(version)
        }
        if let name = given.name {
            throw FerryError(
                .badModel, "\(path) is not a store, and cannot be the version '\(name)'.",
                remedy: "Pass a store after the name; a version of a model file has the file's own name.")
        }
        guard attributes.isDirectory else {
            throw FerryError(
                .badModel, "The file \(path) is not a Core Data model.",
                remedy: "Pass an \(forms), or a folder that contains them.")
        }
        let unreadableBefore = unreadable.count
        var found = false
        for name in try names(in: path) {
            let child = Self.join(path, name)
            let attributes = try files.attributesIfPresent(child)
            if try readModel(child, isDirectory: attributes?.isDirectory ?? false) {
                found = true
            } else if attributes?.isRegularFile == true {
                if try readStore(in: child) { found = true }
            }
        }
        if !found, unreadable.count > unreadableBefore { throw unreadable[unreadableBefore].error }
        guard found else {
            throw FerryError(
                .notFound, "There is no Core Data model in the folder \(path).",
                remedy: "Pass the path of an \(forms).")
        }
    }

    /// Reads a file of a folder; other files and databases than stores are not meant.
    private mutating func readStore(in path: String) throws(FerryError) -> Bool {
        do throws(FerryError) {
            guard var version = try readStore?(path) else { return false }
            version.origin = .store(isNamed: false, isGiven: false)
            add(version)
            return true
        } catch {
            if [.notACoreDataStore, .notADatabase].contains(error.code) { return false }
            // Other models of the folder may do; if none does, the caller throws the error.
            unreadable.append(
                UnreadableVersion(
                    name: FileLayer.name(of: path), bundle: nil, path: try files.realPath(path), error: error))
            return false
        }
    }

    /// - Returns: False if the path's name is not that of a model.
    private mutating func readModel(_ path: String, isDirectory: Bool) throws(FerryError) -> Bool {
        switch (FileLayer.parts(of: path).extension, isDirectory) {
        case ("xcdatamodeld", true): try readSourceBundle(path)
        case ("momd", true): try readCompiledBundle(path)
        case ("xcdatamodel", true):
            let bundle = Self.bundle(above: path)
            let current = try bundle == nil ? nil : currentSourceVersion(FileLayer.parent(of: path))
            try readSource(path, bundle: bundle, current: current)
        case ("mom", false):
            let bundle = Self.bundle(above: path)
            let info = try bundle == nil ? nil : versionInfo(FileLayer.parent(of: path))
            try readCompiled(path, bundle: bundle, info: info)
        default:
            // The path of a source model's XML file itself.
            guard FileLayer.name(of: path) == "contents", !isDirectory,
                FileLayer.parts(of: FileLayer.parent(of: path)).extension == "xcdatamodel"
            else { return false }
            return try readModel(FileLayer.parent(of: path), isDirectory: true)
        }
        return true
    }

    // MARK: Source models

    private mutating func readSourceBundle(_ path: String) throws(FerryError) {
        let models = try names(in: path).filter { FileLayer.parts(of: $0).extension == "xcdatamodel" }
        guard !models.isEmpty else {
            throw FerryError(
                .badModel, "The model bundle \(path) contains no version (.xcdatamodel).",
                remedy: "Use a complete copy of it.")
        }
        let current = try currentSourceVersion(path)
        for name in models {
            try readSource(Self.join(path, name), bundle: Self.stem(of: path), current: current)
        }
    }

    private func currentSourceVersion(_ bundle: String) throws(FerryError) -> String? {
        let path = Self.join(bundle, ".xccurrentversion")
        guard try files.exists(path) else { return nil }
        let list = try propertyList(path)
        return list.member("_XCCurrentVersionName")?.string.map(Self.stem(of:))
    }

    private mutating func readSource(_ path: String, bundle: String?, current: String?) throws(FerryError) {
        let name = Self.stem(of: path)
        let contents = Self.join(path, "contents")
        guard try files.exists(contents) else {
            // Other versions may be readable; if none is, the catalog throws this error.
            let error = try missingContents(path)
            unreadable.append(UnreadableVersion(name: name, bundle: bundle, path: path, error: error))
            return
        }
        let model = try SourceModel.read(try files.read(contents, limit: Self.sizeLimit), path: contents)
        add(
            ModelVersion(
                name: name, bundle: bundle, path: path, isCurrent: name == current, model: model,
                hashes: VersionHash.hashes(of: model)))
    }

    private func missingContents(_ path: String) throws(FerryError) -> FerryError {
        if try files.exists(Self.join(path, "elements")) {
            return FerryError(
                .badModel,
                "The model \(path) is in the binary form of Xcode 3 ('elements'), which Ferry does not read.",
                remedy: "Open it in Xcode and save it in the current format, or give the compiled .mom or .momd.")
        }
        return FerryError(
            .badModel, "The model \(path) has no 'contents'.", remedy: "Use a complete copy of it.")
    }

    // MARK: Compiled models

    /// The content of `VersionInfo.plist`: the current version, and the hashes of each version.
    private struct VersionInfo {
        var current: String?
        var hashes: [String: [String: [UInt8]]] = [:]
    }

    private mutating func readCompiledBundle(_ path: String) throws(FerryError) {
        let models = try names(in: path).filter { FileLayer.parts(of: $0).extension == "mom" }
        guard !models.isEmpty else {
            throw FerryError(
                .badModel, "The compiled model \(path) contains no version (.mom).",
                remedy: "Use a complete copy of it; the .omo next to it is a private format that Ferry does not read.")
        }
        let info = try versionInfo(path)
        for name in models { try readCompiled(Self.join(path, name), bundle: Self.stem(of: path), info: info) }
    }

    private func versionInfo(_ bundle: String) throws(FerryError) -> VersionInfo? {
        let path = Self.join(bundle, "VersionInfo.plist")
        guard try files.exists(path) else { return nil }
        let list = try propertyList(path)
        var info = VersionInfo(current: list.member("NSManagedObjectModel_CurrentVersionName")?.string)
        for (version, hashes) in list.member("NSManagedObjectModel_VersionHashes")?.members ?? [] {
            guard let entities = hashes.members else { continue }
            for (entity, hash) in entities { info.hashes[version, default: [:]][entity] = hash.data }
        }
        return info
    }

    private mutating func readCompiled(_ path: String, bundle: String?, info: VersionInfo?) throws(FerryError) {
        let name = Self.stem(of: path)
        let model: ManagedObjectModel
        do throws(FerryError) {
            let archive = try KeyedArchive(try files.read(path, limit: Self.sizeLimit))
            model = try ArchivedModel.decode(archive, path: path)
        } catch {
            guard error.code == .badArchive else { throw error }
            throw FerryError(
                .badModel, "The compiled model \(path) cannot be read. \(error.message)",
                remedy: error.remedy.isEmpty ? "Use an undamaged copy." : error.remedy, cause: error)
        }
        // The compiler's hashes are right even if Ferry does not know the printed form of a derivation.
        add(
            ModelVersion(
                name: name, bundle: bundle, path: path, isCurrent: name == info?.current, model: model,
                hashes: info?.hashes[name] ?? VersionHash.hashes(of: model)))
    }

    private mutating func add(_ version: ModelVersion) {
        var version = version
        if let last = versions.last {
            version.model = version.model.sharing(with: last.model)
            for (name, hash) in last.hashes where version.hashes[name] == hash { version.hashes[name] = hash }
        }
        versions.append(version)
    }

    // MARK: Files and names

    private func propertyList(_ path: String) throws(FerryError) -> PlistValue {
        let bytes = try files.read(path)
        let list: PlistValue
        do throws(FerryError) {
            list = try PlistValue(bytes)
        } catch {
            throw FerryError(
                .badModel, "The property list \(path) is damaged. \(error.message)", remedy: "Use an undamaged copy.",
                cause: error)
        }
        if list.members != nil { return list }
        throw FerryError(.badModel, "The property list \(path) is not a dictionary.", remedy: "Use an undamaged copy.")
    }

    private func names(in folder: String) throws(FerryError) -> [String] {
        try files.list(folder).map(\.name).inOrder(by: naturalOrder)
    }

    private static func bundle(above path: String) -> String? {
        let parent = FileLayer.parent(of: path)
        return isBundle(parent) ? stem(of: parent) : nil
    }

    static func isBundle(_ path: String) -> Bool {
        ["xcdatamodeld", "momd"].contains(FileLayer.parts(of: path).extension)
    }

    /// Returns the file's name without the extension of a model; other dots belong to the name (`Model 1.2`).
    static func stem(of path: String) -> String {
        let parts = FileLayer.parts(of: path)
        let isModel = ["xcdatamodeld", "xcdatamodel", "momd", "mom"].contains(parts.extension)
        return isModel ? parts.stem : FileLayer.name(of: path)
    }

    private static func join(_ folder: String, _ name: String) -> String {
        folder.hasSuffix("/") ? folder + name : folder + "/" + name
    }

    private static func trimmed(_ path: String) -> String {
        var path = Substring(path)
        while path.count > 1, path.hasSuffix("/") { path = path.dropLast() }
        return String(path)
    }
}
