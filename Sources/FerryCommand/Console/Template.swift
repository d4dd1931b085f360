/// A file of `Templates`, which the build puts into the program.
struct Template: Sendable {
    private let bytes: [UInt8]

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The text, in which `{{name}}` stands for a value.
    func filled(_ values: [String: String] = [:]) -> String {
        Self.filled(String(decoding: bytes, as: UTF8.self), values)
    }

    /// The text between a line `=== name` and the next one of this form.
    func part(_ name: String, _ values: [String: String] = [:]) -> String {
        let text = ("\n" + filled()).split(separator: "\n=== ").first { $0.hasPrefix(name + "\n") } ?? ""
        return Self.filled(text.dropFirst(name.count + 1) + (text.hasSuffix("\n") ? "" : "\n"), values)
    }

    /// The text around `{{body}}`, which comes last: names in it may look like a place for another value.
    func around(_ body: [Markup], _ values: [String: String]) -> String {
        let parts = filled(values).split(separator: "{{body}}", omittingEmptySubsequences: false)
        return parts[0] + body.map(\.written).joined() + parts[1]
    }

    func lines(_ name: String, _ values: [String: String] = [:]) -> [String] {
        part(name, values).dropLast().split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    private static func filled(_ text: String, _ values: [String: String]) -> String {
        values.reduce(text) { $0.replacing("{{\($1.key)}}", with: $1.value) }
    }

    static let page = Template(PackageResources.page_html)
    static let pageStyle = Template(PackageResources.page_css)
    static let drawing = Template(PackageResources.drawing_svg)
    static let commands = Template(PackageResources.commands_txt)
    static let manual = Template(PackageResources.manual_txt)
    static let messages = Template(PackageResources.messages_txt)
    static let sarif = Template(PackageResources.sarif_json)
    static let bash = Template(PackageResources.ferry_bash)
    static let zsh = Template(PackageResources.ferry_zsh)
    static let fish = Template(PackageResources.ferry_fish)
    static let manifest = Template(PackageResources.manifest_txt)
    static let readMe = Template(PackageResources.README_txt)
    static let policy = Template(PackageResources.policy_txt)
    static let policies = Template(PackageResources.Policies_txt)
    static let main = Template(PackageResources.main_txt)
    static let tests = Template(PackageResources.MigrationTests_txt)
    static let demo = Template(PackageResources.demo_txt)
    static let names = Template(PackageResources.names_txt)
    static let versions = [
        PackageResources.Library1_xml, PackageResources.Library2_xml, PackageResources.Library3_xml,
        PackageResources.Library4_xml,
    ].map(Template.init)
    static let rename = Template(PackageResources.rename_json)
    static let authors = Template(PackageResources.authors_json)
    static let files = Template(PackageResources.files_json)
}
