#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Where model versions are read from: `.xcdatamodeld`, `.xcdatamodel`, `.momd`, `.mom`, or a folder of them.
public struct ModelSource: Sendable, Hashable {
    package var path: String

    public static func url(_ url: URL) -> ModelSource { ModelSource(path: url.filePath) }
}

/// Where a mapping model is read from: `.xcmappingmodel`, `.cdm`, or Ferry's JSON.
public struct MappingSource: Sendable, Hashable {
    package var path: String

    public static func url(_ url: URL) -> MappingSource { MappingSource(path: url.filePath) }
}

extension URL {
    /// The path as the file system takes it: decoded, without a trailing slash.
    package var filePath: String {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }
}
