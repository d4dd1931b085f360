internal import FerrySQLite

package enum SQLNames {
    /// Returns words and quoted names in upper case, in order, without comments.
    static func names(in sql: String) -> [String] { tokens(of: sql).compactMap(\.name) }

    /// Returns words and quoted names in upper case, and signs, in order, without comments.
    package static func parts(of sql: String) -> [String] {
        tokens(of: sql).map { token in
            if case .sign(let sign) = token { String(Unicode.Scalar(sign)) } else { token.name ?? "" }
        }
    }

    static func tokens(of sql: String) -> [SQLToken] { SQLToken.all(in: Array(sql.utf8)).map(\.token) }
}

enum SQLName {
    static func quoted(_ schema: String, _ table: String) -> String {
        Connection.quoted(schema) + "." + Connection.quoted(table)
    }
}
