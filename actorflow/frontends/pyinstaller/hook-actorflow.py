"""For PyInstaller: public names, ops and kernels are imported by their names in tables, which it can't see."""

from PyInstaller.utils.hooks import collect_data_files, collect_submodules, copy_metadata

hiddenimports = collect_submodules("actorflow")
datas = copy_metadata("actorflow") + collect_data_files("actorflow")
