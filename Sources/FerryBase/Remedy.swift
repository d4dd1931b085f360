/// What to do about an error: text in which settings and calls are values.
///
/// ``description`` words it for those who call the library. A program with options of its own words it by
/// ``worded(_:_:)``. A remedy is written as a string literal: `"Begin anew with \(on: .restart)."`.
public struct Remedy: Sendable, Hashable {
    public enum Part: Sendable, Hashable {
        case text(String)
        case setting(Setting)
        case action(Action)
    }

    /// A call that helps; new ones may be added in any version.
    public struct Action: Sendable, Hashable, CaseIterable {
        /// As it is called in the library, for sentences such as "run the same migration again".
        public let description: String

        private init(_ description: String) { self.description = description }

        /// What failed is called once more, with the same arguments.
        public static let again = Self("run it again")
        public static let listSnapshots = Self("`StoreFiles.snapshots`")
        public static let verifySnapshots = Self("`StoreFiles.verifySnapshots`")
        public static let rollBack = Self("`StoreFiles.rollback`")

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
