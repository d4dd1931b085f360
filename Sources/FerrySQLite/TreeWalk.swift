internal import CDatabase
internal import CSQLite
internal import FerryBase

struct TreeWalk {
    /// The maximum depth of SQLite's cursors.
    private static let levels = 20

    private var pages: WalkedPages
    /// Set by a stop request.
    private let isInterrupted: Locked<Bool>
    private let usable: UInt32
    private let hasMap: Bool
    /// One bit per page that has a place so far.
    private let placed: UnsafeMutablePointer<UInt64>
    private let words: Int
    /// For each level the links of a page's cells.
    private var links: [UnsafeMutablePointer<ferry_link>] = []
    private var leafLevel: Int?
    private(set) var walked = 0
    private var rows = RowsOfTable()
    /// The pages of another database, and whether those of the current tree are the same so far.
    private var others: WalkedPages?
    private var isSame = false
    private(set) var sameTrees: Set<String> = []

    init(_ pages: WalkedPages, comparingWith others: WalkedPages?, _ isInterrupted: Locked<Bool>) {
        self.pages = pages
        self.others = others
        self.isInterrupted = isInterrupted
        usable = pages.usable
        hasMap = pages.largestRoot != 0
        words = Int(pages.count) / 64 + 1
        placed = .allocate(capacity: words)
        placed.initialize(repeating: 0, count: words)
    }

    func free() {
        placed.deallocate()
        for link in links { link.deallocate() }
        pages.free()
        others?.free()
    }

    /// Nil if the walk finds damage.
    mutating func run(_ trees: TreeRoots) throws(DatabaseError) -> [String: RowsOfTable]? {
        // SQLite never uses the page at 1 GiB, where its locks are.
        if pages.lockPage <= pages.count { _ = place(pages.lockPage) }
        guard hasMap ? trees.largest == pages.largestRoot : !pages.isIncremental, try walkFreePages() else {
            return nil
        }
        var counts: [String: RowsOfTable] = [:]
        for tree in trees.trees {
            if hasMap, tree.root > 1, try !mapHas(tree.root, .root, 0) { return nil }
            (leafLevel, rows, isSame) = (nil, RowsOfTable(), others != nil)
            var low: Int64?
            guard try walk(tree.root, level: 0, of: tree.isTable, tree.tally, &low, high: .max) else { return nil }
            if isSame { sameTrees.insert(tree.table) }
            if tree.isTable { counts[tree.table] = rows }
        }
        return trees.isPartial || allArePlaced ? counts : nil
    }

    // MARK: B-trees

    /// Checks a page and its subtree; the root has level 0.
    ///
    /// Keys must be above `low`, the last key before, and at most `high`; the call sets `low` to the subtree's last
    /// key. `run` consecutive pages from this one on are leaves that the walk reads next.
    private mutating func walk(
        _ page: UInt32, level: Int, of isTable: Bool, _ tally: RowTally?, _ low: inout Int64?, high: Int64,
        run: UInt32 = 1
    ) throws(DatabaseError) -> Bool {
        guard level < Self.levels, place(page) else { return false }
        try countPage()
        if level == links.count { links.append(.allocate(capacity: Int(usable) / 6 + 1)) }
        let links = links[level]
        var found = ferry_page()
        guard let bytes = try pages.bytes(of: page, run: run),
            ferry_page_parse(
                bytes, page == 1 ? 100 : 0, usable, tally?.pointer, &found, links) != 0,
            (found.is_table != 0) == isTable
        else { return false }
        if isSame { isSame = try others?.hold(bytes, as: page, run: run) == true }
        for index in 0..<Int(found.links) where links[index].overflow != 0 {
            guard try follow(links[index].overflow, pages: links[index].overflow_pages, from: page) else {
                return false
            }
        }
        if found.is_leaf != 0 {
            guard leafLevel ?? level == level, found.cells > 0 || level == 0 else { return false }
            leafLevel = level
            rows.count += Int64(found.cells)
            guard isTable, found.cells > 0 else { return true }
            guard low.map({ found.first > $0 }) ?? true, found.last <= high else { return false }
            rows.first = rows.first ?? found.first
            (rows.last, low) = (found.last, found.last)
            if Int64(found.most_bytes) > rows.longest.bytes {
                rows.longest = (Int64(found.most_bytes), found.most_key)
            }
            return true
        }
        // Each cell of an interior page has a link to its child.
        var run: UInt32 = 1
        for index in 0..<Int(found.links) {
            let link = links[index]
            run = run > 1 ? run - 1 : leavesInOrder(links, from: index, count: Int(found.links), at: level + 1)
            if hasMap, try !mapHas(link.child, .tree, page) { return false }
            let limit = isTable ? link.key : high
            if isTable, limit > high || low.map({ limit <= $0 }) ?? false { return false }
            guard try walk(link.child, level: level + 1, of: isTable, tally, &low, high: limit, run: run) else {
                return false
            }
            if isTable { low = limit }
        }
        if hasMap, try !mapHas(found.right_child, .tree, page) { return false }
        return try walk(found.right_child, level: level + 1, of: isTable, tally, &low, high: high)
    }

    /// Returns the number of leaves from a cell on that are consecutive in the file.
    private func leavesInOrder(
        _ links: UnsafeMutablePointer<ferry_link>, from index: Int, count: Int, at level: Int
    ) -> UInt32 {
        guard leafLevel == level else { return 1 }
        var run: UInt32 = 1
        while run < pages.maxRun, index + Int(run) < count, links[index + Int(run)].child == links[index].child &+ run {
            run += 1
        }
        return run
    }

    private mutating func follow(
        _ first: UInt32, pages count: UInt32, from cell: UInt32
    ) throws(DatabaseError) -> Bool {
        if hasMap, try !mapHas(first, .firstOverflow, cell) { return false }
        var page = first
        for index in 0..<count {
            guard place(page), let next = try pages.firstNumber(of: page) else { return false }
            if isSame { isSame = try pages.aloneIsSame(page, in: others) }
            try countPage()
            if index + 1 == count { return next == 0 }
            if hasMap, try !mapHas(next, .overflow, page) { return false }
            page = next
        }
        return false
    }

    private mutating func countPage() throws(DatabaseError) {
        walked += 1
        if walked & 1023 == 0 { try checkInterruption() }
    }

    private func checkInterruption() throws(DatabaseError) {
        if isInterrupted.withLock({ $0 }) { throw DatabaseError(code: SQLITE_INTERRUPT, message: "interrupted") }
    }

    // MARK: Free pages

    private mutating func walkFreePages() throws(DatabaseError) -> Bool {
        var (trunk, left) = (pages.firstFree, Int64(pages.freeCount))
        while trunk != 0 {
            guard place(trunk) else { return false }
            if hasMap, try !mapHas(trunk, .free, 0) { return false }
            guard let bytes = try pages.bytes(of: trunk) else { return false }
            let (next, leaves) = (ferry_four(bytes), ferry_four(bytes + 4))
            left -= 1 + Int64(leaves)
            guard leaves <= usable / 4 - 2, left >= 0 else { return false }
            // A look-up in the pointer map may overwrite the buffer of this page.
            let numbers = (0..<Int(leaves)).map { ferry_four(bytes + 8 + 4 * $0) }
            for leaf in numbers {
                guard place(leaf) else { return false }
                if hasMap, try !mapHas(leaf, .free, 0) { return false }
            }
            try checkInterruption()
            trunk = next
        }
        return left == 0
    }

    // MARK: Places of pages

    /// Marks a page as placed; false if it has a place already, or is outside the file.
    private func place(_ page: UInt32) -> Bool {
        guard page > 0, page <= pages.count else { return false }
        let (word, bit) = (Int(page) >> 6, UInt64(1) << UInt64(page & 63))
        guard placed[word] & bit == 0 else { return false }
        placed[word] |= bit
        return true
    }

    private var allArePlaced: Bool {
        for word in 0..<words where placed[word] != .max {
            for bit in 0..<64 {
                let page = UInt64(word) << 6 | UInt64(bit)
                guard page > 0, page <= UInt64(pages.count) else { continue }
                let isPlaced = placed[word] & (1 << UInt64(bit)) != 0
                let isMap = hasMap && pages.mapPage(of: UInt32(page)) == UInt32(page)
                // A pointer-map page has no other place.
                guard isPlaced != isMap else { return false }
            }
        }
        return true
    }

    /// Whether the pointer map has this kind and parent for a page.
    private mutating func mapHas(
        _ page: UInt32, _ kind: WalkedPages.Kind, _ parent: UInt32
    ) throws(DatabaseError) -> Bool {
        guard let entry = try pages.mapEntry(of: page) else { return false }
        return entry == (kind.rawValue, parent)
    }
}

/// The pages of a database for a walk: each is read once, and consecutive pages many at a time.
struct WalkedPages {
    /// The kinds of pages in the pointer map of `auto_vacuum`.
    enum Kind: UInt8 { case root = 1, free, firstOverflow, overflow, tree }

    private static let windowBytes = 256 << 10
    private static let mapBytes = 256 << 10

    let count: UInt32
    /// Bytes of a page that b-trees may use.
    let usable: UInt32
    let firstFree: UInt32
    let freeCount: UInt32
    /// Not zero with `auto_vacuum`.
    let largestRoot: UInt32
    let isIncremental: Bool

    private let reader: PageReader
    private let pageSize: Int
    private let window: UnsafeMutableRawPointer
    private var first: UInt32 = 0
    private var filled: UInt32 = 0
    let maxRun: UInt32

    /// A cache of pointer-map pages, with a slot by page number.
    private let mapPages: UnsafeMutableRawPointer
    private let mapSlots: Int
    private var mapNumbers: [UInt32]

    /// Nil if the file contradicts its header.
    init?(_ reader: PageReader, count: Int64) throws(DatabaseError) {
        let pageSize = reader.pageSize
        guard count > 0, count < Int64(UInt32.max), count * Int64(pageSize) <= reader.byteCount else { return nil }
        let start = UnsafeMutableRawBufferPointer.allocate(byteCount: DatabaseHeader.byteCount, alignment: 8)
        defer { start.deallocate() }
        try reader.read(into: start, at: 0)
        let bytes = Array(start)
        guard let header = DatabaseHeader(bytes), header.pageSize == pageSize, pageSize - Int(bytes[20]) >= 480 else {
            return nil
        }
        self.reader = reader
        self.pageSize = pageSize
        self.count = UInt32(count)
        usable = UInt32(pageSize - Int(bytes[20]))
        firstFree = UInt32(bigEndian: start.loadUnaligned(fromByteOffset: 32, as: UInt32.self))
        freeCount = UInt32(bigEndian: start.loadUnaligned(fromByteOffset: 36, as: UInt32.self))
        largestRoot = header.largestRootPage
        isIncremental = header.incrementalVacuum
        maxRun = UInt32(max(1, Self.windowBytes / pageSize))
        window = .allocate(byteCount: Int(maxRun) * pageSize, alignment: 4096)
        mapSlots = max(1, Self.mapBytes / pageSize)
        mapPages = .allocate(byteCount: mapSlots * pageSize, alignment: 4096)
        mapNumbers = [UInt32](repeating: 0, count: mapSlots)
    }

    /// The pages of a database to compare with; nil if none of its pages can be compared.
    init?(of connection: Connection, schema: String, pageSize: Int) throws(DatabaseError) {
        let reader = try PageReader(connection, schema: schema)
        guard reader.pageSize == pageSize, let count = try connection.pragma("page_count", in: schema)?.integer else {
            return nil
        }
        try self.init(reader, count: count)
    }

    func free() {
        window.deallocate()
        mapPages.deallocate()
    }

    // MARK: Comparing

    /// Whether the page of a number has these bytes; the next calls will be for the `run` pages from this one on.
    mutating func hold(_ bytes: UnsafePointer<UInt8>, as page: UInt32, run: UInt32) throws(DatabaseError) -> Bool {
        guard let own = try self.bytes(of: page, run: run) else { return false }
        return isSame(own, bytes)
    }

    private func isSame(_ left: UnsafeRawPointer, _ right: UnsafeRawPointer) -> Bool {
        compareBytes(.init(start: left, count: pageSize), .init(start: right, count: pageSize)) == 0
    }

    /// Whether a page is that of the other database, read without the window.
    func aloneIsSame(_ page: UInt32, in others: WalkedPages?) throws(DatabaseError) -> Bool {
        guard let others, page <= others.count else { return false }
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: 2 * pageSize, alignment: 4096)
        defer { buffer.deallocate() }
        try read(page, 1, into: buffer)
        try others.read(page, 1, into: buffer + pageSize)
        return isSame(buffer, buffer + pageSize)
    }

    // MARK: Pages

    /// Returns the bytes of a page, valid until the next call; nil outside the file.
    ///
    /// The next calls will be for the `run` consecutive pages from this one on.
    mutating func bytes(of page: UInt32, run: UInt32 = 1) throws(DatabaseError) -> UnsafePointer<UInt8>? {
        guard page > 0, page <= count else { return nil }
        if page < first || page - first >= filled {
            let pages = max(1, min(run, maxRun, count - page + 1))
            filled = 0
            try read(page, pages, into: window)
            (first, filled) = (page, pages)
        }
        return UnsafeRawPointer(window + Int(page - first) * pageSize).assumingMemoryBound(to: UInt8.self)
    }

    private func read(_ page: UInt32, _ pages: UInt32, into place: UnsafeMutableRawPointer) throws(DatabaseError) {
        try reader.read(
            into: UnsafeMutableRawBufferPointer(start: place, count: Int(pages) * pageSize),
            at: Int64(page - 1) * Int64(pageSize))
    }

    /// Returns the first four bytes of a page as a number; nil outside the file.
    mutating func firstNumber(of page: UInt32) throws(DatabaseError) -> UInt32? {
        guard page > 0, page <= count else { return nil }
        if page >= first, page - first < filled, let bytes = try bytes(of: page) { return ferry_four(bytes) }
        var number: UInt32 = 0
        try withUnsafeMutableBytes(of: &number) { bytes throws(DatabaseError) in
            try reader.read(into: bytes, at: Int64(page - 1) * Int64(pageSize))
        }
        return UInt32(bigEndian: number)
    }

    // MARK: The pointer map

    /// The page at 1 GiB, which SQLite never uses because of its lock bytes.
    var lockPage: UInt32 { UInt32((1 << 30) / pageSize) + 1 }

    /// Returns the pointer-map page of a page, which is the page itself for a pointer-map page.
    func mapPage(of page: UInt32) -> UInt32 {
        guard page >= 2 else { return 0 }
        let covered = usable / 5 + 1
        let map = (page - 2) / covered * covered + 2
        return map == lockPage ? map + 1 : map
    }

    /// Returns the kind and the parent of a page; nil for a page without an entry.
    mutating func mapEntry(of page: UInt32) throws(DatabaseError) -> (kind: UInt8, parent: UInt32)? {
        let map = mapPage(of: page)
        guard page > map, map > 0, page <= count, (page - map) * 5 <= usable else { return nil }
        let slot = Int(map / (usable / 5 + 1)) % mapSlots
        let place = mapPages + slot * pageSize
        if mapNumbers[slot] != map {
            mapNumbers[slot] = 0
            try read(map, 1, into: place)
            mapNumbers[slot] = map
        }
        let entry = UnsafeRawPointer(place).assumingMemoryBound(to: UInt8.self) + 5 * Int(page - map - 1)
        return (entry[0], ferry_four(entry + 1))
    }
}
