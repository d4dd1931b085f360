internal import Ferry
internal import FerryBase
internal import FerryModel

/// The version hashes of model versions.
struct HashesRendering {
    let catalog: ModelCatalog

    var json: JSON { ["versions": JSON.list(catalog.versions) { json($0, named: catalog.displayName(of: $0)) }] }

    func text(width: Int) -> [String] {
        catalog.versions.flatMap { text($0, named: catalog.displayName(of: $0), width: width) }
    }

    private func json(_ version: ModelVersion, named name: String) -> JSON {
        let hashes = version.hashes.inOrder { codeUnitOrder($0.key, $1.key) }
            .map { ($0.key, JSON.string(VersionHash.base64($0.value))) }
        return [
            "name": name, "bundle": version.bundle, "path": version.path, "current": version.isCurrent,
            "entities": JSON.object(hashes), "digest": VersionHash.digest(version.hashes),
            "checksum": VersionHash.checksum(version.hashes), "differsFromModel": differing(version),
        ]
    }

    private func text(_ version: ModelVersion, named name: String, width: Int) -> [String] {
        let differing = Set(differing(version))
        let entities = Set(version.model.entities.keys).union(version.hashes.keys).inOrder(by: codeUnitOrder)
        let rows = entities.map { entity in
            let mark = differing.contains(entity) ? "differs from the compiled model" : ""
            return [entity, version.hashes[entity].map(VersionHash.base64) ?? "–", mark]
        }
        let table = TextTable([.text("Entity"), .text("Version hash"), .text("")], rows)
        return ["\(name)\(version.isCurrent ? " (current)" : "")  \(version.path)"] + table.lines(width: width)
            + [
                "  digest    \(VersionHash.digest(version.hashes))",
                "  checksum  \(VersionHash.checksum(version.hashes))", "",
            ]
    }

    /// The entities whose hash in `VersionInfo.plist` differs from the hash computed from the model.
    private func differing(_ version: ModelVersion) -> [String] {
        let computed = VersionHash.hashes(of: version.model)
        return Set(computed.keys).union(version.hashes.keys)
            .filter { computed[$0] != version.hashes[$0] }.inOrder(by: codeUnitOrder)
    }
}
