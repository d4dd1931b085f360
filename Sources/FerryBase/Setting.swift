/// Something that a caller chooses for a migration, a verification or a generated store, named as the library names it.
///
/// A remedy holds it as a value, so that a program words it in its own way: as an option, as a switch in a window.
public struct Setting: Sendable, Hashable {
    /// What is chosen; new names may be added in any version.
    public struct Name: Sendable, Hashable, CustomStringConvertible {
        public let name: String

        public init(_ name: String) { self.name = name }

        public var description: String { name }
    }

    /// What it is to be.
    public enum Value: Sendable, Hashable, Codable {
        case flag(Bool)
        /// A case of an enumeration, by its name.
        case choice(String)
        /// A name or a path.
        case text(String)
        /// One name or path among several.
        case element(String)
        case number(Int)
        /// So many times 1,048,576 bytes.
        case mebibytes(Int)
        /// Something that the reader must find; the word says what it is.
        case some(String)
    }

    public let name: Name
    /// Nil where the setting itself is meant, as in "leave it out".
    public let value: Value?

    public init(_ name: Name, _ value: Value? = nil) {
        self.name = name
        self.value = value
    }
}

extension Setting: CustomStringConvertible {
    /// As Swift code has it: `damaged: .drop`.
    public var description: String {
        switch value {
        case nil, .some(.some): name.name
        case .flag(let isOn): "\(name): \(isOn)"
        case .choice(let name): "\(self.name): .\(name)"
        case .text(let text): "\(name): \"\(text)\""
        case .element(let text): "\(name): [\"\(text)\"]"
        case .number(let number): "\(name): \(number)"
        case .mebibytes(let count): "\(name): \(count) << 20"
        }
    }
}

extension Setting.Name {
    // Of a migrator or a verifier.
    /// The files or folders that hold the model versions.
    public static let models = Self("models")
    /// The mapping models that are given.
    public static let mappings = Self("mappings")
    /// The store that a migrated one came from, where a migration is verified.
    public static let source = Self("source")

    // Of a configuration.
    public static let target = Self("target")
    public static let chain = Self("chain")
    public static let infersMappings = Self("infersMappings")
    public static let passesOverMappings = Self("passesOverMappings")
    public static let allowedLosses = Self("allowedLosses")
    public static let allowsDowngrade = Self("allowsDowngrade")
    public static let like = Self("like")
    public static let joinTables = Self("joinTables")
    public static let output = Self("output")
    public static let memoryLimit = Self("memoryLimit")
    public static let snapshotFolder = Self("snapshotFolder")
    public static let snapshotLevel = Self("snapshotLevel")
    public static let damaged = Self("damaged")
    public static let dropUnknown = Self("dropUnknown")
    public static let restart = Self("restart")
    public static let recovers = Self("recovers")
    public static let holdsSwap = Self("holdsSwap")

    /// How many rows of an entity a generated store has.
    public static let rowsOf = Self("rowsOf")

    /// Every setting that a remedy of Ferry names.
    public static let all: [Self] = [
        models, mappings, source, target, chain, infersMappings, passesOverMappings, allowedLosses, allowsDowngrade,
        like, joinTables, output, memoryLimit, snapshotFolder, snapshotLevel, damaged, dropUnknown, restart, recovers,
        holdsSwap, rowsOf,
    ]
}
