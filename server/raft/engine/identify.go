package engine

// Identify reads o's identity from its stores, or makes an identity for new stores.
func (o *Options) Identify() error {
	y := &Identity{id: o.ID, founders: o.Peers, charter: o.Charter, version: o.Version, stable: o.Stable, logs: o.Logs, snapshots: o.Snapshots, log: o.Log,
		damaged: o.damaged, refused: make(map[string]*refusal)}
	for key, to := range map[string]*string{string(keyIncarnation): &y.incarnation, string(keyGroup): &y.group} {
		is, err := stored(o.Stable, []byte(key))
		if err != nil {
			return err
		}
		*to = string(is)
	}
	older, err := stored(o.Stable, keyOlder)
	if err != nil {
		return err
	}
	y.older = len(older) > 0
	if y.incarnation == "" {
		if err := y.begin(); err != nil {
			return err
		}
	}
	if y.group == "" {
		if err := y.readGroup(); err != nil {
			return err
		}
	}
	if err := y.readVerdict(); err != nil {
		return err
	}
	o.Identity = y
	return nil
}
