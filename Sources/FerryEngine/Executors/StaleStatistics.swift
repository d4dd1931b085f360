internal import FerrySQLite

/// Statistics of tables and indexes that no longer exist under their names.
enum StaleStatistics {
    static func remove(on connection: Connection) throws(DatabaseError) {
        let exists = try connection.integer("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'")
        guard exists != nil else { return }
        try connection.execute(
            """
            DELETE FROM sqlite_stat1 WHERE tbl NOT IN (SELECT name FROM sqlite_master WHERE type = 'table')
                OR (idx IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sqlite_master AS m
                    WHERE m.type = 'index' AND m.name = idx AND m.tbl_name = tbl)
                    AND idx <> tbl)
            """)
    }
}
