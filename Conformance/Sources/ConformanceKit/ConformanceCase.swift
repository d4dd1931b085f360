import Foundation

/// One migration of a store, by Ferry and by Core Data.
public struct ConformanceCase: Codable, Sendable, Hashable {
    public enum Mode: String, Codable, Sendable {
        /// Ferry migrates the store in place.
        case inPlace
        /// Ferry writes a new store.
        case output
    }

    public var name: String
    /// The model versions, relative to the file of cases.
    public var models: String
    public var source: String
    public var destination: String
    /// Ferry's JSON or Xcode's `.xcmappingmodel`, relative to the file of cases; nil for an inferred mapping.
    public var mapping: String?
    public var rows: Int
    public var seed: Int
    public var mode: Mode
    /// Whether every object keeps its key, as with inferred mappings.
    public var keepsKeys: Bool

    public init(
        name: String, models: String, source: String, destination: String, mapping: String? = nil, rows: Int = 100,
        seed: Int = 1, mode: Mode = .inPlace, keepsKeys: Bool = false
    ) {
        self.name = name
        self.models = models
        self.source = source
        self.destination = destination
        self.mapping = mapping
        self.rows = rows
        self.seed = seed
        self.mode = mode
        self.keepsKeys = keepsKeys
    }

    /// Returns the cases of a file, with absolute paths.
    public static func load(_ file: URL) throws -> [ConformanceCase] {
        let folder = file.deletingLastPathComponent()
        let cases = try JSONDecoder().decode([ConformanceCase].self, from: Data(contentsOf: file))
        guard !cases.isEmpty, Set(cases.map(\.name)).count == cases.count else {
            throw ConformanceError("\(file.path) has no cases, or two of one name.")
        }
        return try cases.map { one in
            var one = one
            one.models = folder.appendingPathComponent(one.models).standardizedFileURL.path
            one.mapping = one.mapping.map { folder.appendingPathComponent($0).standardizedFileURL.path }
            for path in [one.models] + (one.mapping.map { [$0] } ?? [])
            where !FileManager.default.fileExists(atPath: path) {
                throw ConformanceError("The case \(one.name) names \(path), which is not there.")
            }
            return one
        }
    }
}
