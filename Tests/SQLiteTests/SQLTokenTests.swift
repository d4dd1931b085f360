import FerrySQLite
import Testing

@Suite("The tokens of an SQL text")
struct SQLTokenTests {
    private func parts(_ sql: String) -> [String] {
        SQLToken.all(in: Array(sql.utf8)).map { token, _ in
            if case .sign(let sign) = token { String(Unicode.Scalar(sign)) } else { token.name ?? "" }
        }
    }

    @Test("are words, quoted names and signs, without whitespace and comments")
    func splits() {
        #expect(
            parts("create table a_1-- b\n/* c' */(\"d e\" ü, [f\"])")
                == ["CREATE", "TABLE", "A_1", "(", "D E", "Ü", ",", "F\"", ")"])
    }

    @Test("have one quote for a doubled one")
    func joinsQuotes() {
        #expect(parts("\"x\"\"y\" 'it''s' `q``r` [a]]") == ["X\"Y", "IT'S", "Q`R", "A", "]"])
    }

    @Test("end with a text that is cut off", arguments: ["\"a", "'a''", "[a", "`a", "a/* b", "a-- b", "a/*"])
    func ends(_ sql: String) {
        let tokens = SQLToken.all(in: Array(sql.utf8))
        #expect(tokens.count == 1 && tokens[0].range.upperBound <= sql.utf8.count)
    }

    @Test("have their places in the text")
    func hasPlaces() {
        let text = Array("a \"b\"\"c\" ,".utf8)
        #expect(SQLToken.all(in: text).map(\.range) == [0..<1, 2..<8, 9..<10])
    }
}
