/// What to do about an error: text in which settings and calls are values.
///
/// ``description`` words it for callers of the library. A program with options of its own words it by
/// ``worded(_:_:)``. A remedy is written as a string literal: `"Begin anew with \(on: .restart)."`.
public struct Remedy: Sendable, Hashable {
    public enum Part: Sendable, Hashable {
        case text(String)
        case setting(Setting)
        case action(Action)
    }

    /// A call that helps; new ones may be added in any version.
    public struct Action: Sendable, Hashable, CaseIterable {
        public let name: String
        /// As it is called in the library, within a sentence.
        public let description: String

        fileprivate init(_ name: String, _ description: String) {
            self.name = name
            self.description = description
        }

        /// What failed is called once more, with the same arguments.
        public static let again = Self("again", "run it again")
        public static let listSnapshots = Self("listSnapshots", "`StoreFiles.snapshots`")
        public static let verifySnapshots = Self("verifySnapshots", "`StoreFiles.verifySnapshots`")
        public static let rollBack = Self("rollBack", "`StoreFiles.rollback`")

        public static let allCases: [Self] = [again, listSnapshots, verifySnapshots, rollBack]
    }

    public private(set) var parts: [Part]

    public init(_ text: String = "") { parts = text.isEmpty ? [] : [.text(text)] }

    public var isEmpty: Bool { parts.isEmpty }

    /// The settings that it names, in their order.
    public var settings: [Setting] {
        parts.compactMap { if case .setting(let setting) = $0 { setting } else { nil } }
    }

    /// The calls that it names, in their order.
    public var actions: [Action] {
        parts.compactMap { if case .action(let action) = $0 { action } else { nil } }
    }

    /// The whole text in the words of a program.
    ///
    /// - Parameters:
    ///   - setting: How a setting is named there, with its value.
    ///   - action: How a call is named there, within a sentence.
    /// - Returns: The text; what begins a sentence has a capital letter.
    public func worded(_ setting: (Setting) -> String, _ action: (Action) -> String) -> String {
        var text = ""
        for part in parts {
            let beginsSentence = text.isEmpty || text.hasSuffix(". ")
            switch part {
            case .text(let more): text += more
            case .setting(let value): text += setting(value)
            case .action(let value):
                let words = action(value)
                text += beginsSentence ? words.prefix(1).uppercased() + words.dropFirst() : words
            }
        }
        return text
    }

    public mutating func append(_ other: Remedy) {
        for part in other.parts {
            if case .text(let more) = part, case .text(let text) = parts.last {
                parts[parts.count - 1] = .text(text + more)
            } else {
                parts.append(part)
            }
        }
    }
}

extension Remedy: CustomStringConvertible {
    public var description: String { worded({ "`\($0)`" }, \.description) }
}

extension Remedy: ExpressibleByStringInterpolation {
    public init(stringLiteral text: String) { self.init(text) }

    public init(stringInterpolation: StringInterpolation) { self = stringInterpolation.remedy }

    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var remedy = Remedy()

        public init(literalCapacity: Int, interpolationCount: Int) {}

        public mutating func appendLiteral(_ literal: String) { remedy.append(Remedy(literal)) }

        public mutating func appendInterpolation(_ value: some CustomStringConvertible) {
            remedy.append(Remedy(value.description))
        }

        public mutating func appendInterpolation(_ other: Remedy) { remedy.append(other) }

        public mutating func appendInterpolation(setting name: Setting.Name, _ value: Setting.Value? = nil) {
            remedy.parts.append(.setting(Setting(name, value)))
        }

        /// A setting that is to be true.
        public mutating func appendInterpolation(on name: Setting.Name) {
            appendInterpolation(setting: name, .flag(true))
        }

        /// The same setting once for each value.
        public mutating func appendInterpolation(
            setting name: Setting.Name, each values: [Setting.Value], separator: String
        ) {
            for (place, value) in values.enumerated() {
                if place > 0 { appendLiteral(separator) }
                appendInterpolation(setting: name, value)
            }
        }

        public mutating func appendInterpolation(action: Action) { remedy.parts.append(.action(action)) }
    }
}

extension Remedy: Codable {
    public init(from decoder: any Decoder) throws {
        let parts = try decoder.singleValueContainer().decode([Part].self)
        self.init()
        self.parts = parts
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.singleValueContainer()
        try values.encode(parts)
    }
}

/// One of `{"text": …}`, `{"setting": …, "value": …}` and `{"action": …, "words": …}`.
extension Remedy.Part: Codable {
    private enum Key: String, CodingKey { case text, setting, value, action, words }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        if let name = try values.decodeIfPresent(String.self, forKey: .setting) {
            self = .setting(
                Setting(Setting.Name(name), try values.decodeIfPresent(Setting.Value.self, forKey: .value)))
        } else if let name = try values.decodeIfPresent(String.self, forKey: .action) {
            // One of a later version has its words with it.
            let words = try values.decode(String.self, forKey: .words)
            self = .action(Remedy.Action.allCases.first { $0.name == name } ?? Remedy.Action(name, words))
        } else {
            self = .text(try values.decode(String.self, forKey: .text))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        switch self {
        case .text(let text): try values.encode(text, forKey: .text)
        case .setting(let setting):
            try values.encode(setting.name.name, forKey: .setting)
            try values.encodeIfPresent(setting.value, forKey: .value)
        case .action(let action):
            try values.encode(action.name, forKey: .action)
            try values.encode(action.description, forKey: .words)
        }
    }
}

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
