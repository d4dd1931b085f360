import Ferry
import FerryBase
import FerryEngine
import FerryGenerate
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// The policies of real apps, each with a stand-in: on a real store with rows if there is one, otherwise on generated
/// rows.
@Suite("Stand-ins for real policies", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct StandInMigrationTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var family: String
        var models: String
        /// The version of the generated store; nil for a real store.
        var from: String?
        var store = "Store.sqlite"
        var to: String
        var mappings: [String]
        /// Statements that make the generated rows similar to an app's.
        var prepared: [String] = []
        /// Pairs of queries, on the old and on the new store, that must give the same rows.
        var same: [(old: String, new: String)]

        var testDescription: String { "\(family) \(mappings.joined(separator: ", "))" }
    }

    static let cases: [Case] = [
        Case(
            family: "loopkit-model", models: "Model.xcdatamodeld", from: "Model", to: "Modelv4",
            mappings: ["Carbs.json"],
            prepared: [
                """
                UPDATE ZCACHEDCARBOBJECT SET ZSYNCIDENTIFIER = iif(Z_PK % 3, 'sync ' || Z_PK, NULL),
                    ZSYNCVERSION = Z_PK % 4, ZEXTERNALID = iif(Z_PK % 2, 'external ' || Z_PK, NULL)
                """
            ],
            same: [
                (
                    """
                    SELECT Z_PK, ZGRAMS, ZSTARTDATE, ZUUID, ifnull(ZSYNCIDENTIFIER, ZEXTERNALID),
                        iif(ZSYNCIDENTIFIER IS NULL AND ZEXTERNALID NOT NULL, 1, ZSYNCVERSION),
                        iif(ZCREATEDBYCURRENTAPP AND ZSYNCIDENTIFIER NOT NULL AND ZSYNCVERSION > 1, 1, 0),
                        iif(ZCREATEDBYCURRENTAPP, 'com.loopkit.Loop', '') FROM ZCACHEDCARBOBJECT ORDER BY 1
                    """,
                    """
                    SELECT Z_PK, ZGRAMS, ZSTARTDATE, ZUUID, ZSYNCIDENTIFIER, ZSYNCVERSION, ZOPERATION,
                        ZPROVENANCEIDENTIFIER FROM ZCACHEDCARBOBJECT WHERE ZOPERATION < 2 ORDER BY 1
                    """
                ),
                (
                    "SELECT ZEXTERNALID, 1, ZSTARTDATE, 0, 0 FROM ZDELETEDCARBOBJECT ORDER BY Z_PK",
                    """
                    SELECT ZSYNCIDENTIFIER, ZSYNCVERSION, ZSTARTDATE, ZCREATEDBYCURRENTAPP, ZANCHORKEY
                    FROM ZCACHEDCARBOBJECT WHERE ZOPERATION = 2 ORDER BY Z_PK
                    """
                ),
            ]),
        Case(
            family: "objcio-moody", models: "Moody.xcdatamodeld", store: "Moody 5.moody", to: "Moody 6",
            mappings: ["Continents.json"],
            same: [
                (
                    "SELECT Z_PK, ZISOCONTINENT FROM ZCOUNTRY ORDER BY 1",
                    """
                    SELECT c.Z_PK, k.ZNUMERICISO3166CODE FROM ZCOUNTRY c LEFT JOIN ZCONTINENT k ON k.Z_PK = c.ZCONTINENT
                    ORDER BY 1
                    """
                )
            ]),
        Case(
            family: "practical-core-data", models: "Chapter9.xcdatamodeld", store: "version1.sqlite", to: "Chapter9 5",
            mappings: ["Chapter9v2Tov3.xcmappingmodel", "Artists.json", "Covers.json"],
            same: [
                (
                    "SELECT ZTITLE, ZARTIST, NULL FROM ZALBUM ORDER BY 1",
                    """
                    SELECT b.ZTITLE, a.ZNAME, b.ZALBUMCOVERPATH FROM ZALBUM b JOIN ZARTIST a ON a.Z_PK = b.ZARTIST
                    ORDER BY 1
                    """
                )
            ]),
        Case(
            family: "models-only/billmoss-hybrid", models: "Model.xcdatamodeld", from: "Model4", to: "Model5",
            mappings: ["Presenters.json"],
            prepared: ["UPDATE ZTOPIC SET ZPRESENTERNAME = 'Presenter ' || Z_PK % 7"],
            same: [
                (
                    """
                    SELECT t.Z_PK, t.ZTITLE, l.ZTITLE, t.ZPRESENTERNAME FROM ZTOPIC t
                    JOIN ZTOPICLIST l ON l.Z_PK = t.ZTOPICLIST WHERE l.ZTITLE GLOB '[a-zA-Z]*' ORDER BY 1
                    """,
                    """
                    SELECT t.Z_PK, t.ZTITLE, l.ZTITLE, m.ZFIRSTNAME FROM ZTOPIC t
                    JOIN ZTOPICLIST l ON l.Z_PK = t.ZTOPICLIST JOIN ZMEMBER m ON m.Z_PK = t.ZPRESENTER ORDER BY 1
                    """
                ),
                (
                    """
                    SELECT ZPRESENTERNAME, ZPRESENTEREMAIL FROM ZTOPIC WHERE Z_PK IN (
                        SELECT min(t.Z_PK) FROM ZTOPIC t JOIN ZTOPICLIST l ON l.Z_PK = t.ZTOPICLIST
                        WHERE l.ZTITLE GLOB '[a-zA-Z]*' GROUP BY ZPRESENTERNAME) ORDER BY 1
                    """, "SELECT ZFIRSTNAME, ZEMAIL FROM ZMEMBER ORDER BY 1"
                ),
            ]),
        Case(
            family: "models-only/corestore-evolution", models: "V1.xcdatamodeld", from: "Advanced.EvolutionDemo.V1",
            to: "Advanced.EvolutionDemo.V2", mappings: ["Creatures.json"],
            same: [
                (
                    """
                    SELECT Z_PK, ZDNACODE, ZNUMBEROFFLAGELLA, 1, ZDNACODE % 2 = 0, ZDNACODE % 3 = 0 FROM ZCREATURE
                    ORDER BY 1
                    """,
                    """
                    SELECT Z_PK, ZDNACODE, ZNUMBEROFFLIPPERS, ZHASHEAD, ZHASVERTEBRAE, ZHASTAIL FROM ZCREATURE ORDER BY 1
                    """
                )
            ]),
        Case(
            family: "models-only/jdspoone-example", models: "CoreDataMigration.xcdatamodeld",
            from: "CoreDataMigration-v1.1",
            to: "CoreDataMigration-v1.2", mappings: ["Images.json"],
            same: [
                (
                    "SELECT Z_PK, ZTITLE, ZBODY, ZIMAGEDATA FROM ZNOTE ORDER BY 1",
                    """
                    SELECT n.Z_PK, n.ZTITLE, n.ZBODY, i.ZIMAGEDATA FROM ZNOTE n LEFT JOIN ZIMAGE i ON i.Z_PK = n.ZIMAGE
                    ORDER BY 1
                    """
                ),
                (
                    "SELECT Z_PK FROM ZNOTE WHERE ZIMAGEDATA IS NOT NULL ORDER BY 1",
                    "SELECT ZNOTEUSEDIN FROM ZIMAGE ORDER BY 1"
                ),
            ]),
        Case(
            family: "models-only/jdspoone-example", models: "CoreDataMigration.xcdatamodeld",
            from: "CoreDataMigration-v1.2",
            to: "CoreDataMigration-v1.3", mappings: ["ManyImages.json"],
            same: [
                (
                    "SELECT n.Z_PK, i.Z_PK, i.ZIMAGEDATA FROM ZNOTE n JOIN ZIMAGE i ON i.Z_PK = n.ZIMAGE ORDER BY 1",
                    "SELECT ZNOTEUSEDIN, Z_PK, ZIMAGEDATA FROM ZIMAGE WHERE ZNOTEUSEDIN NOT NULL AND ZINDEX = 0 ORDER BY 1"
                ), ("SELECT count(*) FROM ZIMAGE", "SELECT count(*) FROM ZIMAGE"),
            ]),
        Case(
            family: "models-only/kodeco-uncloudnotes", models: "UnCloudNotesDataModel.xcdatamodeld",
            from: "UnCloudNotesDataModel v3", to: "UnCloudNotesDataModel v4", mappings: ["Captions.json"],
            prepared: ["UPDATE ZNOTE SET ZBODY = replace(hex(zeroblob(60)), '00', 'ab ') WHERE Z_PK % 2"],
            same: [
                (
                    """
                    SELECT a.Z_PK, substr(ifnull(n.ZBODY, ''), 1, 80), a.ZDATECREATED, a.ZIMAGE, a.ZNOTE, 0.0, 0.0
                    FROM ZATTACHMENT a LEFT JOIN ZNOTE n ON n.Z_PK = a.ZNOTE ORDER BY 1
                    """,
                    "SELECT Z_PK, ZCAPTION, ZDATECREATED, ZIMAGE, ZNOTE, ZWIDTH, ZHEIGHT FROM ZATTACHMENT ORDER BY 1"
                )
            ]),
        Case(
            family: "models-only/openemu", models: "OEDatabase.xcdatamodeld", from: "OEDatabase", to: "OEDatabase 0.2",
            mappings: ["Locations0.2.json"],
            same: [
                (
                    "SELECT Z_PK, ZNAME, ZPATH, ZROM FROM ZSAVESTATE ORDER BY 1",
                    "SELECT Z_PK, ZNAME, ZLOCATION, ZROM FROM ZSAVESTATE ORDER BY 1"
                ),
                (
                    "SELECT Z_PK, ZMD5, NULL, ZGAME FROM ZROM ORDER BY 1",
                    "SELECT Z_PK, ZMD5, ZLOCATION, ZGAME FROM ZROM ORDER BY 1"
                ),
            ]),
        Case(
            family: "models-only/openemu", models: "OEDatabase.xcdatamodeld", from: "OEDatabase 0.5",
            to: "OEDatabase 1.0",
            mappings: ["Archives1.0.json"],
            same: [
                (
                    "SELECT Z_PK, ZMD5, ZLOCATION, NULL, ZGAME FROM ZROM ORDER BY 1",
                    "SELECT Z_PK, ZMD5, ZLOCATION, ZARCHIVEFILEINDEX, ZGAME FROM ZROM ORDER BY 1"
                )
            ]),
        Case(
            family: "models-only/openemu", models: "OEDatabase.xcdatamodeld", from: "OEDatabase 1.1",
            to: "OEDatabase 1.2",
            mappings: ["Images1.2.json"],
            same: [
                (
                    """
                    SELECT t.ZRELATIVEPATH, t.ZWIDTH, t.ZHEIGHT, i.ZSOURCEURL, i.ZBOX FROM ZIMAGETHUMBNAIL t
                    JOIN ZIMAGE i ON i.Z_PK = t.ZIMAGE WHERE t.ZWIDTH > 0 AND t.ZWIDTH = (
                        SELECT max(ZWIDTH) FROM ZIMAGETHUMBNAIL WHERE ZIMAGE = i.Z_PK) ORDER BY t.Z_PK
                    """, "SELECT ZRELATIVEPATH, ZWIDTH, ZHEIGHT, ZSOURCE, ZBOX FROM ZIMAGE ORDER BY Z_PK"
                )
            ]),
        Case(
            family: "models-only/openemu", models: "OEDatabase.xcdatamodeld", from: "OEDatabase 1.2",
            to: "OEDatabase 1.3",
            mappings: ["Relative1.3.json"],
            prepared: [
                "UPDATE ZROM SET ZLOCATION = 'file:///Library/roms/Rom%20' || Z_PK WHERE Z_PK % 2",
                "UPDATE ZSAVESTATE SET ZLOCATION = 'file:///Library/Save%20States/State%20' || Z_PK || '/' WHERE Z_PK % 2",
            ],
            same: [
                (
                    "SELECT Z_PK, replace(ZLOCATION, 'file:///Library/roms/', '') FROM ZROM ORDER BY 1",
                    "SELECT Z_PK, ZLOCATION FROM ZROM ORDER BY 1"
                ),
                (
                    """
                    SELECT Z_PK, rtrim(replace(ZLOCATION, 'file:///Library/Save%20States/', ''), '/') FROM ZSAVESTATE
                    ORDER BY 1
                    """, "SELECT Z_PK, ZLOCATION FROM ZSAVESTATE ORDER BY 1"
                ),
            ]),
        Case(
            family: "models-only/sworm", models: "MigratableDataModel.xcdatamodeld", from: "V0", to: "V1",
            mappings: ["Identifiers1.json"],
            same: [
                (
                    "SELECT Z_PK, CAST(ZID AS REAL), ZNAME FROM ZA ORDER BY 1",
                    "SELECT Z_PK, ZIDENTIFIER, ZTEXT FROM ZB ORDER BY 1"
                )
            ]),
        Case(
            family: "models-only/sworm", models: "MigratableDataModel.xcdatamodeld", from: "V1", to: "V2",
            mappings: ["Identifiers2.json"],
            same: [
                (
                    "SELECT Z_PK, ZIDENTIFIER * 10, ZTEXT FROM ZB ORDER BY 1",
                    "SELECT Z_PK, ZIDENTIFIER, ZTEXT FROM ZB ORDER BY 1"
                )
            ]),
    ]

    @Test("A mapping file does the work of the policy", arguments: cases)
    func migrates(_ fixture: Case) throws {
        let family = try Family(fixture.family)
        if let version = fixture.from { _ = try family.generate(version, of: fixture.models, rows: 60) }
        let expected = try prepared(family.folder.file(fixture.store), fixture.prepared) { old in
            try fixture.same.map { try old.rows($0.old) }
        }
        let report = try family.migrate(
            fixture.store, models: [fixture.models], mappings: fixture.mappings, to: fixture.to)
        #expect(report.verification.differences.isEmpty)
        let store = try family.open(fixture.store)
        for (queries, rows) in zip(fixture.same, expected) {
            #expect(!rows.isEmpty)
            #expect(try store.rows(queries.new) == rows, "\(queries.new)")
        }
    }

    private func prepared<Result>(
        _ path: String, _ statements: [String], _ body: (Connection) throws -> Result
    ) throws -> Result {
        let connection = try Connection(path: path, mode: .readWrite)
        for statement in statements { try connection.execute(statement) }
        return try body(connection)
    }

    // MARK: Nova Wallet, whose addresses need code

    @Test("Nova Wallet: an account becomes a wallet, with the account's identifier from its address")
    func wallets() throws {
        let family = try Family("models-only/nova-wallet")
        let path = try family.generate("UserDataModel", of: "UserDataModel.xcdatamodeld", rows: 2)
        // Two well-known addresses of that network, and their public keys.
        let keys = [
            (
                "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY",
                "d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d"
            ),
            (
                "5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty",
                "8eaf04151687736326c9fea17e25fc5287613693c912909cb226aa4794f26a48"
            ),
        ]
        let statements = keys.enumerated().map { index, key in
            """
            UPDATE ZCDACCOUNTITEM SET ZIDENTIFIER = '\(key.0)', ZPUBLICKEY = x'\(key.1)', ZUSERNAME = 'Account \(index)'
            WHERE Z_PK = \(index + 1)
            """
        }
        try prepared(path, statements) { _ in }
        try family.migrate(
            "Store.sqlite", models: ["UserDataModel.xcdatamodeld"], mappings: ["SingleToMultiasset.xcmappingmodel"],
            to: "MultiassetUserDataModel", policies: ["SingleToMultiassetMigrationPolicy": { WalletPolicy() }])
        let store = try family.open("Store.sqlite")
        let rows = try store.rows(
            """
            SELECT ZNAME, ZSUBSTRATEACCOUNTID, lower(hex(ZSUBSTRATEPUBLICKEY)), ZISSELECTED, ZORDER, length(ZMETAID)
            FROM ZCDMETAACCOUNT ORDER BY Z_PK
            """)
        #expect(
            rows
                == keys.enumerated().map { index, key in
                    [
                        .text("Account \(index)"), .text(key.1), .text(key.1), .integer(index == 0 ? 1 : 0),
                        .integer(Int64(index)), .integer(36),
                    ]
                })
        #expect(try store.integer("SELECT count(DISTINCT ZMETAID) FROM ZCDMETAACCOUNT") == 2)
    }

    /// The work of the app's policy on the store; keys in the keychain are not part of a store.
    struct WalletPolicy: EntityMigrationPolicy {
        func createDestinationInstances(
            forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
        ) throws {
            try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
            let wallet = try manager.destinationInstances(
                forEntityMappingName: mapping.name, sourceInstances: [source])[0]
            let order = try manager.userInfo(Int64.self, forKey: "order") ?? 0
            try manager.setUserInfo(order + 1, forKey: "order")
            let identifier = try Self.accountIdentifier(in: source.string(forKey: "identifier") ?? "")
            try wallet.setValue(
                .string(identifier.map { String(format: "%02x", $0) }.joined()), forKey: "substrateAccountId")
            try wallet.setValue(.string(UUID().uuidString), forKey: "metaId")
            try wallet.setValue(.boolean(order == 0), forKey: "isSelected")
            try wallet.setValue(.integer(order), forKey: "order")
        }

        /// Returns the 32 bytes between an address's prefix and its checksum; addresses are written in base 58.
        private static func accountIdentifier(in address: String) throws -> [UInt8] {
            let digits = Array("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")
            var bytes: [UInt8] = []
            for character in address {
                guard var carry = digits.firstIndex(of: character) else { break }
                for index in bytes.indices.reversed() {
                    carry += Int(bytes[index]) * 58
                    bytes[index] = UInt8(carry & 0xFF)
                    carry >>= 8
                }
                while carry > 0 {
                    bytes.insert(UInt8(carry & 0xFF), at: 0)
                    carry >>= 8
                }
            }
            guard bytes.count == 35 else { throw FerryError(.rowFailed, "An account has no address of 35 bytes.") }
            return Array(bytes[1...32])
        }
    }
}

extension Family {
    /// Fills `Store.sqlite` with generated rows of a version.
    fileprivate func generate(_ version: String, of models: String, rows: Int64) throws -> String {
        let catalog = try ModelCatalog(paths: [folder.file(models)])
        let path = folder.file("Store.sqlite")
        try StoreGenerator(try catalog.version(named: version), options: GenerationOptions(rows: rows))
            .generate(at: path, files: FileLayer())
        return path
    }
}
