/// Names of tables, columns and schemas in SQL text.
package enum SQLName {
    /// A name in double quotes, safe whatever it holds.
    package static func quoted(_ name: String) -> String {
        var quoted = "\""
        for character in name.unicodeScalars {
            quoted.unicodeScalars.append(character)
            if character == "\"" { quoted += "\"" }
        }
        return quoted + "\""
    }

    /// A table of an attached database.
    package static func quoted(_ schema: String, _ table: String) -> String {
        quoted(schema) + "." + quoted(table)
    }
}
