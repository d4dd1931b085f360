internal import Foundation
internal import TestSupport
internal import Testing

/// Two relationships of a version exchange their inverses: neither the relationship nor the inverse has all old links.
@Suite("Exchanged inverses")
struct ExchangedInversesTests {
    private let app: RouteFolder

    init() throws { app = try RouteFolder() }

    /// Writes versions with albums with `x` and `y`, bands with `p` and `q`; in the second version `x` has the inverse
    /// `q`.
    private func versions(albums: Bool, bands: Bool) throws {
        for (version, inverses) in [("App 1", ["x": "p", "y": "q"]), ("App 2", ["x": "q", "y": "p"])] {
            let back = Dictionary(uniqueKeysWithValues: inverses.map { ($1, $0) })
            let album = ["x", "y"].map { RouteFolder.link($0, "Band", inverses[$0] ?? "", toMany: albums) }.joined()
            let band = ["p", "q"].map { RouteFolder.link($0, "Album", back[$0] ?? "", toMany: bands) }.joined()
            try app.model(
                "App", version, RouteFolder.entity("Album", "title", album) + RouteFolder.entity("Band", "name", band))
        }
        try app.current("App", "App 2")
        try app.generate("App", "App 1", rows: 20)
    }

    @Test(
        "Whichever side Ferry fills, the links of the other side are lost, and reported by name",
        arguments: [(true, false), (false, true), (true, true), (false, false)], [[], ["--output", "New.sqlite"]])
    func exchanged(many: (albums: Bool, bands: Bool), more: [String]) throws {
        try versions(albums: many.albums, bands: many.bands)
        let words = ["App.sqlite", "--models", "App.xcdatamodeld"]
        let plan = try app.run(["plan"] + words + ["--json"])
        let losses = try PlannedLoss.all(in: plan.output)
        let links =
            many.albums && many.bands
            ? ["x": "SELECT count(*) FROM Z_1X", "y": "SELECT count(*) FROM Z_1Y"]
            : many.albums
                ? ["x": "SELECT count(ZP) FROM ZBAND", "y": "SELECT count(ZQ) FROM ZBAND"]
                : ["x": "SELECT count(ZX) FROM ZALBUM", "y": "SELECT count(ZY) FROM ZALBUM"]
        #expect(losses.map(\.name) == ["Album.x", "Album.y"])
        for loss in losses {
            #expect(try loss.rows == app.count(links[loss.property ?? ""] ?? ""))
            #expect(
                loss.because == "App 2 fills it from its inverse Band.\(loss.property == "x" ? "q" : "p"), "
                    + "which had other objects")
        }
        let refused = try app.run(["migrate"] + words + more)
        #expect(refused.exitCode == 2 && refused.diagnostics.contains("--lose Album.x --lose Album.y"), "\(refused)")
        let done = try app.run(["migrate", "--accept-loss"] + words + more)
        #expect(done.exitCode == 0 && done.diagnostics.contains("Album.x is lost"), "\(done)")
    }

    @Test("Without links there is no loss")
    func noLinks() throws {
        try versions(albums: true, bands: false)
        try app.execute("UPDATE ZBAND SET ZP = NULL, ZQ = NULL")
        let plan = try app.run(["plan", "App.sqlite", "--models", "App.xcdatamodeld"])
        #expect(plan.output.contains("Loses nothing"), "\(plan)")
    }
}
