import FerryBase
import Testing

/// XML as in model and mapping files, and invalid XML.
@Suite("The XML tokenizer")
struct XMLTokenizerTests {
    /// Returns the tokens in one line: `<name key=value>`, text, `</name>`; or the reason and line of the failure.
    private func read(_ bytes: [UInt8], piece: Int = .max, depthLimit: Int = 8) -> String {
        var rest = bytes[...]
        var tokens = XMLTokenizer(depthLimit: depthLimit) { reason, line in
            FerryError(.badModel, "\(reason) (\(line))")
        } fill: { () throws(FerryError) in
            let next = Array(rest.prefix(piece))
            rest = rest.dropFirst(piece)
            return next
        }
        var text = ""
        do throws(FerryError) {
            while let token = try tokens.next() {
                switch token {
                case .start(let name, let attributes):
                    text +=
                        "<\(name)" + attributes.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
                        + ">"
                case .text(let piece): text += piece
                case .end(let name): text += "</\(name)>"
                }
            }
            return text
        } catch {
            return "! " + error.message
        }
    }

    @Test(
        "Elements, attributes and texts are read from pieces of any size",
        arguments: [
            ("<a/>", "<a></a>"),
            ("\u{FEFF}<?xml version='1.0' encoding='utf-8'?>\n<a b = \"c\"  d='e\"'></a >\n", "<a b=c d=e\"></a>"),
            ("<a>x<b>y</b>z</a>", "<a>x<b>y</b>z</a>"),
            ("<a>&lt;&amp;&#233;&#x1D11E;&quot;&apos;&gt;</a>", "<a><&é𝄞\"'></a>"),
            ("<a b='&lt;&#10;\n\t'/>", "<a b=<\n  ></a>"), ("<a>\r\nb\rc\n</a>", "<a>\nb\nc\n</a>"),
            ("<a><!-- <b> -- --><![CDATA[<c>]]]>&#93;</a><!---->", "<a><c>]]</a>"),
            ("<?xml?><?p?><a/><?q r?>", "<a></a>"),
            ("<!DOCTYPE a PUBLIC \"-//>\" '[x'><a/>", "<a></a>"),
            ("<x:é_1.2-3 y:z='1'/>", "<x:é_1.2-3 y:z=1></x:é_1.2-3>"),
            ("<a>]]></a>", "<a>]]></a>"),
        ])
    func reads(_ xml: String, _ tokens: String) {
        let bytes = Array(xml.utf8)
        #expect(read(bytes) == tokens)
        for piece in 1...7 { #expect(read(bytes, piece: piece) == tokens) }
    }

    @Test(
        "Invalid XML is refused with pieces of any size",
        arguments: [
            "", " ", "a", "<", "<a", "<a>", "<a b", "<a b=", "<a b=c/>", "<a b='<'/>", "<a b='c'd='e'/>",
            "<a b='1' b='2'/>",
            "<a></b>", "<a/></a>", "<a/><b/>", "<a/>x", "x<a/>", "<a>&b;</a>", "<a>&#xD800;</a>", "<a>&#0;</a>",
            "<a>&#xFFFE;</a>", "<a>&#99999999999;</a>", "<a>&", "<a>\u{1}</a>", "<a \u{0}/>", "<1/>", "<a><!-",
            "<a><!--",
            "<a><![CDATA[", "<![CDATA[x]]><a/>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", "<a><!DOCTYPE a></a>",
            "<!x><a/>", "<?", "<a/ >",
            "<?xml version='1.0' encoding='UTF-16'?><a/>", "<?xml version='1.0' encoding='ISO-8859-1'?><a/>",
            String(repeating: "<a>", count: 9), "<\(String(repeating: "a", count: 1_100))/>",
            "<a \((0..<300).map { "b\($0)=''" }.joined(separator: " "))/>",
        ])
    func refuses(_ xml: String) {
        let bytes = Array(xml.utf8)
        let reason = read(bytes)
        #expect(reason.hasPrefix("! "), "\(reason)")
        for piece in 1...5 { #expect(read(bytes, piece: piece).hasPrefix("! ")) }
    }

    @Test("Invalid UTF-8 is refused at any place", arguments: [0xFF, 0x80, 0xC3, 0xED] as [UInt8])
    func refusesBytes(_ byte: UInt8) {
        let text = Array("<a b='c'>d<!-- e --><?f g?><![CDATA[h]]></a>".utf8)
        for place in 0...text.count {
            let bytes = text[..<place] + [byte] + text[place...]
            #expect(read(Array(bytes)).hasPrefix("! "), "\(place)")
            #expect(read(Array(bytes), piece: 3).hasPrefix("! "), "\(place)")
        }
    }

    @Test(
        "Invalid UTF-8 is found in pieces of any size",
        arguments: [
            [], [0x41], Array("é𝄞\u{10FFFF}, and some more letters".utf8), [0xFF], [0x80], [0xC0, 0x80],
            [0xC1, 0xBF],
            [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80],
            [0xF5, 0x80, 0x80, 0x80], [0xC3], [0xE2, 0x82], [0xF0, 0x9D, 0x84], [0xC3, 0x28], [0xEF, 0xBF, 0xBF],
            Array("a long run of letters".utf8) + [0xFE] + Array("another one".utf8),
        ] as [[UInt8]])
    func findsBytes(_ bytes: [UInt8]) {
        let document = Array("<a>".utf8) + bytes + Array("</a>".utf8)
        for piece in 1...document.count {
            #expect(read(document, piece: piece).hasPrefix("! it is not UTF-8 text") == (String(utf8: bytes) == nil))
        }
    }

    @Test("A long text arrives in pieces without loss, and its lines are counted")
    func longText() {
        let line = String(repeating: "é𝄞x", count: 1_000) + "\n"
        let text = String(repeating: line, count: 100)
        #expect(read(Array("<a>\(text)</a>".utf8), piece: 1_001) == "<a>\(text)</a>")
        #expect(read(Array("<a>\(text)<b></a>".utf8)).hasSuffix("(101)"))
        #expect(read(Array("<a><![CDATA[\(text)]]></a>".utf8), piece: 999) == "<a>\(text)</a>")
    }
}
