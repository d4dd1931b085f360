/// The next step after an error: text in which settings and calls are values.
///
/// ``description`` is the text for callers of the library. A program with its own options uses ``worded(_:_:)``. A
/// remedy is a string literal: `"Start over with \(on: .restart)."`.
public struct Remedy: Sendable, Hashable {
    public enum Part: Sendable, Hashable {
        case text(String)
        case setting(Setting)
        case action(Action)
    }

    /// A call that helps; any version may add actions.
    public struct Action: Sendable, Hashable, CaseIterable {
        public let name: String
        /// The name in the library, within a sentence.
        public let description: String

        fileprivate init(_ name: String, _ description: String) {
            self.name = name
            self.description = description
        }

        /// Repeats the failed call with the same arguments.
        public static let again = Self("again", "run it again")
        public static let listSnapshots = Self("listSnapshots", "`StoreFiles.snapshots`")
        public static let verifySnapshots = Self("verifySnapshots", "`StoreFiles.verifySnapshots`")
        public static let rollBack = Self("rollBack", "`StoreFiles.rollback`")

        public static let recoverJournal = Self("recoverJournal", "`StoreFiles.recoverJournal`")

        public static let allCases: [Self] = [again, listSnapshots, verifySnapshots, rollBack, recoverJournal]
    }

    public private(set) var parts: [Part]

    public init(_ text: String = "") { parts = text.isEmpty ? [] : [.text(text)] }

    public var isEmpty: Bool { parts.isEmpty }

    /// The settings of the remedy, in their order.
    public var settings: [Setting] {
        parts.compactMap { if case .setting(let setting) = $0 { setting } else { nil } }
    }

    /// The calls of the remedy, in their order.
    public var actions: [Action] {
        parts.compactMap { if case .action(let action) = $0 { action } else { nil } }
    }

    /// Returns the text in the words of a program.
    ///
    /// - Parameters:
    ///   - setting: Returns the program's words for a setting and its value.
    ///   - action: Returns the program's words for a call, within a sentence.
    /// - Returns: The text; an action at the start of a sentence gets a capital letter.
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

        /// Appends a setting with the value true.
        public mutating func appendInterpolation(on name: Setting.Name) {
            appendInterpolation(setting: name, .flag(true))
        }

        /// Appends a setting once for each value.
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
            // The words serve actions of later versions.
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

/// A setting of a migration, a verification or a generated store, under its name in the library.
///
/// A remedy contains settings as values, so that a program can show them as options or as switches in a window.
public struct Setting: Sendable, Hashable {
    /// The name of a setting; any version may add names.
    public struct Name: Sendable, Hashable, CustomStringConvertible {
        public let name: String

        public init(_ name: String) { self.name = name }

        public var description: String { name }
    }

    /// The value of a setting.
    public enum Value: Sendable, Hashable, Codable {
        case flag(Bool)
        /// A case of an enumeration, by its name.
        case choice(String)
        /// A name or a path.
        case text(String)
        /// One name or path among several.
        case element(String)
        case number(Int)
        /// A number of units of 1,048,576 bytes.
        case mebibytes(Int)
        /// A value that the reader must find; the text describes it.
        case some(String)
    }

    public let name: Name
    /// Nil if the text means the setting itself, as in "leave it out".
    public let value: Value?

    public init(_ name: Name, _ value: Value? = nil) {
        self.name = name
        self.value = value
    }
}

extension Setting: CustomStringConvertible {
    /// The setting as Swift code: `damaged = .drop`.
    public var description: String {
        switch value {
        case nil, .some(.some): name.name
        case .flag(let isOn): "\(name) = \(isOn)"
        case .choice(let name): "\(self.name) = .\(name)"
        case .text(let text): "\(name) = \"\(text)\""
        // A migrator takes these.
        case .element(let text) where name == .mappings: "\(name): [URL(filePath: \"\(text)\")]"
        case .element(let text): "\(name) = [\"\(text)\"]"
        case .number(let number): "\(name) = \(number)"
        case .mebibytes(let count): "\(name) = \(count) << 20"
        }
    }
}

extension Setting.Name {
    // Settings of a migrator or a verifier.
    /// The files or folders that hold the model versions.
    public static let models = Self("models")
    /// The given mapping models.
    public static let mappings = Self("mappings")
    /// The source store of a verification.
    public static let source = Self("source")

    // Settings of a configuration.
    public static let target = Self("target")
    public static let chain = Self("chain")
    public static let infersMappings = Self("infersMappings")
    public static let ignoresMappingsBeside = Self("ignoresMappingsBeside")
    public static let losses = Self("losses")
    public static let lossExceptions = Self("losses.exceptions")
    public static let allowsDowngrade = Self("allowsDowngrade")
    public static let allowsQuadratic = Self("allowsQuadratic")
    public static let breaksSync = Self("breaksSync")
    public static let like = Self("like")
    public static let joinTables = Self("joinTables")
    public static let output = Self("output")
    public static let executor = Self("executor")
    public static let memoryLimit = Self("limits.memory")
    public static let snapshotFolder = Self("snapshots.folder")
    public static let snapshotLevel = Self("snapshots.level")
    public static let snapshotForm = Self("snapshots.form")
    public static let damaged = Self("damaged")
    public static let removals = Self("repairs.removals")
    public static let adoption = Self("repairs.adoption")
    public static let restart = Self("restart")
    public static let missingParts = Self("repairs.missingParts")
    public static let holdsSwap = Self("holdsSwap")

    /// The number of an entity's rows in a generated store.
    public static let rowsOf = Self("rowsOf")

    /// Every setting in Ferry's remedies.
    public static let all: [Self] = [
        models, mappings, source, target, chain, infersMappings, ignoresMappingsBeside, losses, lossExceptions,
        allowsDowngrade, allowsQuadratic, breaksSync, like, joinTables, output, executor, memoryLimit, snapshotFolder,
        snapshotLevel, snapshotForm, damaged, removals, adoption, restart, missingParts, holdsSwap, rowsOf,
    ]
}
