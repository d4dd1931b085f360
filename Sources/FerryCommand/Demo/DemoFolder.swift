internal import FerryBase
internal import FerrySQLite

/// The folder of a demo: store, model versions, mapping files.
struct DemoFolder {
    let path: String
    private let files = FileLayer()

    var store: String { path + "/Library.sqlite" }
    var models: String { path + "/Library.xcdatamodeld" }
    var mappings: String { path + "/Mappings" }

    /// The folder that was asked for, which must be empty or not there, else the first free one of our own names.
    init(_ asked: String?) throws(FerryError) {
        if let asked {
            path = asked
            guard try files.attributesIfPresent(asked) != nil else { return }
            guard try files.attributes(asked).isDirectory, try files.list(asked).isEmpty else {
                throw FerryError(
                    .outputExists, "\(asked) is there already and not empty.",
                    remedy: "Name another folder for the demo, or remove this one.")
            }
            return
        }
        var number = 1
        while try files.exists(DemoFolder.name(number)) { number += 1 }
        path = DemoFolder.name(number)
    }

    private static func name(_ number: Int) -> String { number == 1 ? "ferry-demo" : "ferry-demo-\(number)" }

    /// Writes model versions and mapping files.
    func writeSources() throws(FerryError) {
        for version in LibraryModels.versions {
            try write(version.text, to: "\(models)/\(version.name).xcdatamodel/contents")
        }
        try write(LibraryModels.currentVersion, to: models + "/.xccurrentversion")
        for mapping in LibraryModels.mappings { try write(mapping.text, to: "\(mappings)/\(mapping.name)") }
    }

    private func write(_ text: String, to file: String) throws(FerryError) {
        try files.createDirectory(FileLayer.parent(of: file))
        try files.replace(file, with: Array(text.utf8))
    }

    func size(of file: String) throws(FerryError) -> Int64 { try files.attributes(file).size }

    /// SHA-256 of a database that no connection of this process has open, but for what its header counts.
    func digest(of file: String) throws(FerryError) -> String {
        let input = try files.open(file)
        var hash = SHA256()
        var offset: Int64 = 0
        while true {
            var bytes = try input.read(count: 1 << 20, at: offset)
            if bytes.isEmpty { return hash.finalize().hexadecimal }
            if offset == 0 { DatabaseHeader.blankCounters(&bytes) }
            hash.update(bytes)
            offset += Int64(bytes.count)
        }
    }
}
