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

/// Text as Swift writes it.
enum SwiftText {
    /// A string literal.
    static func quoted(_ text: String) -> String {
        var literal = ""
        for character in text.unicodeScalars {
            switch character {
            case "\"": literal += "\\\""
            case "\\": literal += "\\\\"
            case "\n": literal += "\\n"
            case "\r": literal += "\\r"
            case "\t": literal += "\\t"
            case _ where isControl(character):
                literal += "\\u{\(String(character.value, radix: 16))}"
            default: literal.unicodeScalars.append(character)
            }
        }
        return "\"\(literal)\""
    }

    /// A name for a type or a function: what cannot stand in one becomes an underscore.
    static func identifier(_ text: String) -> String {
        let name = String(
            text.map { character in
                character.isASCII && (character.isLetter || character.isNumber) || character == "_" ? character : "_"
            })
        return name.first?.isNumber ?? true ? "_" + name : name
    }

    /// What may stand in a comment of one line.
    static func comment(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { isControl($0) ? " " : $0 }))
    }

    private static func isControl(_ character: Unicode.Scalar) -> Bool {
        character.value < 0x20 || [0x7F, 0x85, 0x2028, 0x2029].contains(character.value)
    }
}
