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
